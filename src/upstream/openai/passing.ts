import type { Passing } from '../port.ts';
import { passedAnswer, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { PassedChunkReader } from './passed-chunks.ts';
import { ownCompletion } from './passed-completion.ts';
import { ownResponse } from './passed-response.ts';
import { PassedResponseReader } from './passed-response-events.ts';

const chatPath = '/v1/chat/completions';
const responsesPath = '/v1/responses';

/** The chat completions of an endpoint for clients that speak them: bytes pass, and only usage is read (contract N1). */
export const passingChat = (endpoint: Endpoint): Passing => ({
  answer: ({ body, headers, id, model }, options) =>
    wholeAnswer(endpoint, { path: chatPath, body, headers }, options, (document) => {
      const own = ownCompletion(document, { id, model });
      return { body: own.document, usage: own.usage, outputBytes: own.outputBytes };
    }),
  stream: ({ body, headers, id, model, hidesUsage }, options) => {
    const reader = new PassedChunkReader({ id, model }, endpoint.hide, hidesUsage === true);
    return passedAnswer(endpoint, { path: chatPath, body, headers }, options, reader);
  },
});

/** The responses of an endpoint, likewise. */
export const passingResponses = (endpoint: Endpoint): Passing => ({
  answer: ({ body, headers, id, model }, options) =>
    wholeAnswer(endpoint, { path: responsesPath, body, headers }, options, (document) => {
      const own = ownResponse(document, { id, model }, endpoint.hide);
      return { body: own.document, usage: own.usage, outputBytes: own.outputBytes };
    }),
  stream: ({ body, headers, id, model }, options) => {
    const reader = new PassedResponseReader({ id, model }, endpoint.hide);
    return passedAnswer(endpoint, { path: responsesPath, body, headers }, options, reader);
  },
});
