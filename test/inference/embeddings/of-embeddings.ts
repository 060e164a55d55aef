import type { Upstream } from '../../../src/data/upstream/port.ts';
import { noTokens } from '../../../src/tokens.ts';

const unasked = (): never => {
  throw new Error('An upstream of embeddings is asked for nothing else.');
};
const body = Buffer.from(JSON.stringify({ object: 'list', data: [{ index: 0, embedding: [0.5] }] }));

/** Makes the same embedding of everything. */
export const ofEmbeddings: Upstream = {
  answer: unasked,
  stream: unasked,
  passing: {
    embeddings: {
      answer: async () => ({ body, usage: { ...noTokens, input_tokens: 1 }, outputBytes: 0 }),
      stream: unasked,
    },
  },
  close: async () => {},
};
