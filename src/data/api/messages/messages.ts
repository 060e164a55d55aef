import type { Route } from '../../../http/route.ts';
import { either } from '../../request/either.ts';
import { type InferenceOptions, inferenceRoute } from '../../request/inference-route.ts';
import { messagesForm } from './messages-events.ts';
import { messageResponse } from './messages-response-schema.ts';
import { messagesRules } from './messages-rules.ts';
import { messagesBody } from './messages-schema.ts';
import { passingBody } from './passing-schema.ts';

/** Client headers that are passed on (contract L.1). */
export const passedNames = ['anthropic-version', 'anthropic-beta'] as const;

/** `POST /v1/messages` (contract G.1–G.5, L.1). */
export const messagesRoute = (options: InferenceOptions): Route =>
  inferenceRoute(options, {
    path: '/v1/messages',
    operation: 'createMessage',
    summary: 'Generate an answer to a conversation',
    family: 'messages',
    name: 'messages',
    request: either('CreateMessageRequest', messagesBody, passingBody),
    response: messageResponse,
    errors: ['thread_unsupported_request'],
    rules: messagesRules,
    form: ({ model, said: { managesContext: contextManaged, omitsThinking } }, id, head) => {
      const versioned = head.header('anthropic-version') !== undefined;
      return messagesForm({ id, model, versioned, contextManaged, omitsThinking });
    },
    passedHeaders: passedNames,
  });
