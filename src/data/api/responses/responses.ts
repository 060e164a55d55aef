import type { Refusal } from '../../../errors.ts';
import type { Route } from '../../../http/route.ts';
import { either } from '../../request/either.ts';
import { type InferenceOptions, inferenceRoute } from '../../request/inference-route.ts';
import { inPlace } from '../translation/translated.ts';
import { passingResponsesBody } from './passing-schema.ts';
import { responseObject } from './response-schema.ts';
import { repeatedOf } from './response-text.ts';
import { responsesForm } from './responses-form.ts';
import { responsesReading } from './responses-reading.ts';
import { responsesBody } from './responses-schema.ts';

export const responsesRoute = (options: InferenceOptions): Route => {
  const now = () => Math.floor(options.clock.wall() / 1000);
  return inferenceRoute(options, {
    path: '/v1/responses',
    operation: 'createResponse',
    summary: 'Generate an answer to a conversation, as a response',
    family: 'chat',
    name: 'responses',
    request: either('CreateResponseRequest', responsesBody, passingResponsesBody),
    response: responseObject,
    reading: responsesReading(options.models),
    form: ({ strict, passed }, id) => {
      if (strict === null) {
        const { model } = passed.fields;
        return responsesForm({
          id,
          createdAt: now(),
          get repeated() {
            return repeatedOf({ model, input: '' });
          },
          asSummary: false,
          now,
        });
      }
      const { placeOf, repeated, asSummary } = strict;
      const form = responsesForm({ id, createdAt: now(), repeated, asSummary, now });
      return Object.assign(form, { inPlace: (refused: Refusal) => inPlace(refused, placeOf) });
    },
  });
};
