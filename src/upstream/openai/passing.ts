import type { Passing } from '../port.ts';
import { passedAnswer, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { PassedChunkReader } from './passed-chunks.ts';
import { ownCompletion } from './passed-completion.ts';

const path = '/v1/chat/completions';

/** The chat completions of an endpoint for clients that speak them: bytes pass, and only usage is read (contract N1). */
export const passingChat = (endpoint: Endpoint): Passing => ({
  answer: ({ body, headers, id, model }, options) =>
    wholeAnswer(endpoint, { path, body, headers }, options, (document) => {
      const own = ownCompletion(document, { id, model });
      return { body: own.document, usage: own.usage };
    }),
  stream: ({ body, headers, id, model, hidesUsage }, options) => {
    const reader = new PassedChunkReader({ id, model }, endpoint.hide, hidesUsage === true);
    return passedAnswer(endpoint, { path, body, headers }, options, reader);
  },
});
