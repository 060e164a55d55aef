import { noTokens } from '../../tokens.ts';
import type { StreamCount } from '../account/answer-count.ts';
import { type Chunk, UpstreamError } from '../upstream/port.ts';
import { textIn } from './kept.ts';

/** A part of a streamed answer in the form of the client's API: an upstream's own bytes, or events of ours as text. */
export interface Piece extends StreamCount {
  readonly start: Buffer | string | null;
  readonly events: Buffer | string;
}

/** Counts chunks one after the other. */
export const chunkCounter = (): ((chunk: Chunk) => StreamCount) => {
  let usage = noTokens;
  let outputBytes = 0;
  return (chunk) => {
    if (chunk.type === 'block_delta') {
      if (chunk.delta.type !== 'signature_delta') outputBytes += Buffer.byteLength(textIn(chunk.delta));
    } else if ('usage' in chunk) usage = chunk.usage;
    return { usage, outputBytes, ended: chunk.type === 'end' };
  };
};

/** Chunks as events of the client's API. @throws UpstreamError for an answer without a start */
export async function* translatedPieces(
  chunks: AsyncIterable<Chunk>,
  toEvents: (chunk: Chunk) => string,
): AsyncGenerator<Piece> {
  const count = chunkCounter();
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst && chunk.type !== 'start') throw noAnswer();
    isFirst = false;
    const events = toEvents(chunk);
    yield chunk.type === 'start'
      ? { ...count(chunk), start: events, events: '' }
      : { ...count(chunk), start: null, events };
  }
}

const noAnswer = (): UpstreamError => new UpstreamError('provider_error', 'The provider sent no answer.');

/** Until the first piece has come, the status is not committed (contract G.5). @throws UpstreamError */
export const firstPiece = async (pieces: AsyncIterator<Piece>): Promise<Piece> => {
  const step = await pieces.next();
  if (step.done !== true) return step.value;
  throw noAnswer();
};
