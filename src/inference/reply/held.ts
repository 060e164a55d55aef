import { statusOf } from '../../http/error-envelopes.ts';
import type { Family, Hold } from '../../http/route.ts';
import type { Chunk, PassedEvents } from '../../upstream/port.ts';
import { AnswerWithheld } from '../upstream-refusal.ts';
import { type AnswerWatch, judgeLater } from './answer-watch.ts';
import { type Kept, KeptChunks, KeptEvents } from './kept.ts';

/** Streams judged by policies (contract G.8). */

interface Watching<T> {
  readonly watch: AnswerWatch;
  readonly hold: Hold;
  /** `status`: the client's, with the last piece. */
  readonly spend: (piece: T, status?: number) => void;
  readonly family: Family;
  readonly requestId: string;
}

/** Yields, already spent, only when all are there and allowed. @throws AnswerWithheld */
async function* held<T>(
  pieces: AsyncIterable<T>,
  { watch, spend, family }: Watching<T>,
  kept: Kept<T>,
  isLast: (piece: T) => boolean,
): AsyncGenerator<T> {
  for await (const piece of pieces) {
    const isWhole = isLast(piece);
    const refused = kept.add(piece) ?? (isWhole ? (await watch.judge(await kept.text())).refused : null);
    spend(piece, refused === null ? 200 : statusOf(refused.code, family, refused.status));
    if (refused !== null) throw new AnswerWithheld(refused);
    if (isWhole) yield* kept.take();
  }
}

async function* watched<T>(
  pieces: AsyncIterable<T>,
  { watch, requestId }: Watching<T>,
  kept: Kept<T>,
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

export const watchedChunks = (chunks: AsyncIterable<Chunk>, watching: Watching<Chunk>): AsyncIterable<Chunk> => {
  const kept = new KeptChunks(watching.watch, watching.hold);
  return watching.watch.holds
    ? held(chunks, watching, kept, ({ type }) => type === 'end')
    : watched(chunks, watching, kept);
};

export const watchedEvents = (
  pieces: AsyncIterable<PassedEvents>,
  watching: Watching<PassedEvents>,
): AsyncIterable<PassedEvents> => {
  const kept = new KeptEvents(watching.watch, watching.hold);
  return watching.watch.holds ? held(pieces, watching, kept, ({ ended }) => ended) : watched(pieces, watching, kept);
};
