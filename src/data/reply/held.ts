import { statusOf } from '../../http/error-envelopes.ts';
import type { StreamCount } from '../account/answer-count.ts';
import type { Chunk, PassedEvents } from '../upstream/port.ts';
import { type AnswerJudge, judgeLater } from './answer-judge.ts';
import type { Generation } from './generation.ts';
import { type Kept, KeptChunks, KeptEvents } from './kept.ts';
import { chunkCounter } from './pieces.ts';
import { AnswerWithheld } from './upstream-refusal.ts';

/** Streams judged by policies (contract G.8). */

interface Stage<T> {
  readonly kept: Kept<T>;
  readonly count: (piece: T) => StreamCount;
}

/** Yields, already charged, only when all are there and allowed. @throws AnswerWithheld */
async function* held<T>(
  pieces: AsyncIterable<T>,
  watch: AnswerJudge,
  generation: Generation,
  { kept, count }: Stage<T>,
): AsyncGenerator<T> {
  const { account, form } = generation;
  for await (const piece of pieces) {
    const counted = count(piece);
    const refused = kept.add(piece) ?? (counted.ended ? (await watch.judge(await kept.text())).refused : null);
    account.add(counted, refused === null ? 200 : statusOf(refused.code, form.family, refused.status));
    if (refused !== null) throw new AnswerWithheld(refused);
    if (counted.ended) yield* kept.take();
  }
}

async function* watched<T>(
  pieces: AsyncIterable<T>,
  watch: AnswerJudge,
  { requestId }: Generation,
  { kept }: Stage<T>,
): AsyncGenerator<T> {
  try {
    for await (const piece of pieces) {
      kept.add(piece);
      yield piece;
    }
  } finally {
    judgeLater(watch, () => kept.text(), requestId);
  }
}

export const judgedChunks = (chunks: AsyncIterable<Chunk>, generation: Generation): AsyncIterable<Chunk> => {
  const { watch, hold } = generation;
  if (watch === null) return chunks;
  const stage = { kept: new KeptChunks(watch, hold), count: chunkCounter() };
  return (watch.holds ? held : watched)(chunks, watch, generation, stage);
};

export const judgedEvents = (
  pieces: AsyncIterable<PassedEvents>,
  generation: Generation,
): AsyncIterable<PassedEvents> => {
  const { watch, hold } = generation;
  if (watch === null) return pieces;
  const stage = { kept: new KeptEvents(watch, hold), count: (piece: PassedEvents) => piece };
  return (watch.holds ? held : watched)(pieces, watch, generation, stage);
};
