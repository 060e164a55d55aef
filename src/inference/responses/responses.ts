import type { Refusal } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import { bodyReader } from '../route/body-reader.ts';
import { type InferenceOptions, inferenceRoute } from '../route/inference-route.ts';
import { inPlace } from '../translation/translated.ts';
import { judgeTranslated, type TranslatedInput, translatingReader } from '../translation/translated-task.ts';
import type { PassedResponses } from './passing-rules.ts';
import { passingResponses } from './read-passing.ts';
import { responseObject } from './response-schema.ts';
import { type Repeated, repeatedOf } from './response-text.ts';
import { responsesForm } from './responses-form.ts';
import { type ResponsesBody, responsesBody } from './responses-schema.ts';
import { responsesToMessages } from './responses-to-messages.ts';

/** A request in Weir's own form, with what its answer repeats. */
interface ResponsesInput extends TranslatedInput {
  readonly repeated: Repeated;
  readonly asSummary: boolean;
}

/** `POST /v1/responses` (contract G.7): the answer of a model, whole or as server-sent events. Nothing of it is stored. */
export const responsesRoute = (options: InferenceOptions): Route => {
  const now = () => Math.floor(options.clock.wall() / 1000);
  return inferenceRoute<ResponsesInput, PassedResponses>(options, {
    path: '/v1/responses',
    operation: 'createResponse',
    summary: 'Generate an answer to a conversation, as a response',
    family: 'chat',
    name: 'responses',
    request: responsesBody,
    response: responseObject,
    read: bodyReader(options.models, {
      strict: translatingReader(options.models, {
        schema: responsesBody,
        translate: responsesToMessages,
        maximumOf: ({ max_output_tokens: most }) => most,
        extra: (request: ResponsesBody) => ({
          repeated: repeatedOf(request),
          asSummary: request.reasoning?.summary != null,
        }),
      }),
      passed: passingResponses,
    }),
    judge: judgeTranslated,
    form: ({ strict, passed }, id) => {
      if (strict === null) {
        const { model } = passed.fields;
        return responsesForm({
          id,
          createdAt: now(),
          // What the request says beyond the model is the upstream's to repeat, unless it comes too late.
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
