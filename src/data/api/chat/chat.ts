import type { Route } from '../../../http/route.ts';
import { either } from '../../request/either.ts';
import { type InferenceOptions, inferenceRoute } from '../../request/inference-route.ts';
import { chatForm } from './chat-answer.ts';
import { chatCompletion } from './chat-response-schema.ts';
import { chatRules } from './chat-rules.ts';
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
    rules: chatRules,
    form: ({ model, said: { includeUsage } }, id) =>
      chatForm({ id, model, created: Math.floor(options.clock.wall() / 1000), includeUsage }),
  });
