import type { Refusal } from '../../../errors.ts';
import type { Route } from '../../../http/route.ts';
import { either } from '../../request/either.ts';
import { type InferenceOptions, inferenceRoute } from '../../request/inference-route.ts';
import { inPlace } from '../translation/translated.ts';
import { chatForm } from './chat-answer.ts';
import { chatReading } from './chat-reading.ts';
import { chatCompletion } from './chat-response-schema.ts';
import { chatBody } from './chat-schema.ts';
import { passingChatBody } from './passing-schema.ts';

/** `POST /v1/chat/completions` (contract G.6). */
export const chatRoute = (options: InferenceOptions): Route =>
  inferenceRoute(options, {
    path: '/v1/chat/completions',
    operation: 'createChatCompletion',
    summary: 'Generate an answer to a conversation, as chat completions',
    family: 'chat',
    name: 'chat.completions',
    request: either('CreateChatCompletionRequest', chatBody, passingChatBody),
    response: chatCompletion,
    reading: chatReading(options.models),
    form: ({ strict, passed }, id) => {
      const { model, includeUsage } = strict ?? passed.fields;
      const created = Math.floor(options.clock.wall() / 1000);
      const form = chatForm({ id, model, created, includeUsage });
      if (strict === null) return form;
      const { placeOf } = strict;
      return Object.assign(form, { inPlace: (refused: Refusal) => inPlace(refused, placeOf) });
    },
  });
