import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { edited } from '../../../json/edits.ts';
import { noTokens } from '../../../tokens.ts';
import type { PassedAnswer, Passing } from '../port.ts';
import { wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { tokensOf, within } from '../transport/fields.ts';
import { maxEmbeddingsBytes } from '../transport/limits.ts';
import { memberOf, mostPassedTokens, type OwnNames, ownNames, picked, scanned } from '../transport/told.ts';
import { malformed } from '../transport/upstream-errors.ts';

const path = '/v1/embeddings';

export const passingEmbeddings = (endpoint: Endpoint): Passing => ({
  answer: ({ body, headers, ...own }, options) =>
    wholeAnswer(
      endpoint,
      { path, body, headers },
      options,
      (document) => passedEmbeddings(document, own),
      maxEmbeddingsBytes,
    ),
  stream: () => {
    throw new Error('Embeddings are not streamed.');
  },
});

/** There is no output: servers that count some in their total mean nothing by it. */
const passedEmbeddings = (document: Buffer, own: OwnNames): PassedAnswer => {
  scanned(document, 'the answer');
  if (!tape.is(memberOf(0, 'data'), Kind.array)) throw malformed('the answer has no embeddings');
  const { prompt_tokens: taken } = within(picked(0, 'usage').usage);
  return {
    body: edited(document, ownNames(0, own)),
    usage: { ...noTokens, input_tokens: tokensOf(taken, mostPassedTokens, 0) },
    outputBytes: 0,
  };
};
