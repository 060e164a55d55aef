import type { MessagesPassing } from '../port.ts';
import { passedAnswer, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { countTokens } from './count-tokens.ts';
import { PassedEventReader } from './passed-events.ts';
import { ownAnswer } from './passed-message.ts';

const path = '/v1/messages';

export const passingMessages = (endpoint: Endpoint): MessagesPassing => ({
  answer: (request, options) => {
    const { body, headers, id, model } = request;
    return wholeAnswer(endpoint, { path, body, headers }, options, (document) => {
      const own = ownAnswer(document, { id, model });
      return { body: own.document, usage: own.usage, outputBytes: own.outputBytes };
    });
  },
  stream: ({ body, headers, id, model }, options) =>
    passedAnswer(endpoint, { path, body, headers }, options, new PassedEventReader({ id, model })),
  countTokens: ({ body, headers }, options) => countTokens(endpoint, body, headers, options),
});
