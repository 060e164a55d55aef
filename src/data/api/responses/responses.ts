import type { Route } from '../../../http/route.ts';
import { either } from '../../request/either.ts';
import { type InferenceOptions, inferenceRoute } from '../../request/inference-route.ts';
import { passingResponsesBody } from './passing-schema.ts';
import { responseObject } from './response-schema.ts';
import { repeatedOf } from './response-text.ts';
import { responsesForm } from './responses-form.ts';
import { responsesRules } from './responses-rules.ts';
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
    rules: responsesRules,
    form: ({ model, said: { repeated, asSummary, searches, called } }, id) =>
      responsesForm({
        id,
        createdAt: now(),
        get repeated() {
          return repeated ?? repeatedOf({ model, input: '' });
        },
        isPassing: repeated === null,
        asSummary,
        searches,
        called,
        now,
      }),
  });
};
