import { statusOf } from '../../http/error-envelopes.ts';
import type { Family } from '../../http/route.ts';
import type { Chunk, PassedEvents } from '../../upstream/port.ts';
import { AnswerBlocked } from '../upstream-refusal.ts';
import { type AnswerWatch, type Collected, collectedChunks, collectedEvents, judgeLater } from './answer-watch.ts';

/** How the streams of answers are judged by policies (contract G.8). */

/** Takes a piece into account, and where it is the last of an answer, the status that the client gets. */
type Spend<T> = (piece: T, status?: number) => void;

interface Watching<T> {
  readonly watch: AnswerWatch;
  readonly spend: Spend<T>;
  readonly family: Family;
  readonly requestId: string;
}

/** @throws AnswerBlocked where the answer may not be released */
const released = async <T>(last: T, { watch, spend, family }: Watching<T>, text: Collected<T>['text']) => {
  const { refused } = await watch.judge(text());
  spend(last, refused === null ? 200 : statusOf(refused.code, family, refused.status));
  if (refused !== null) throw new AnswerBlocked(refused);
};

/** Chunks that come only when there are all of them and none is forbidden. They have been spent by then. */
async function* heldChunks(chunks: AsyncIterable<Chunk>, watching: Watching<Chunk>): AsyncGenerator<Chunk> {
  const collected = collectedChunks();
  const all: Chunk[] = [];
  for await (const chunk of chunks) {
    collected.add(chunk);
    all.push(chunk);
    if (chunk.type === 'end') await released(chunk, watching, collected.text);
    else watching.spend(chunk);
  }
  // What has not ended has not been judged.
  if (all.at(-1)?.type === 'end') yield* all;
}

/** The events of an upstream, in one piece and under the same condition. */
async function* heldEvents(
  pieces: AsyncIterable<PassedEvents>,
  watching: Watching<PassedEvents>,
): AsyncGenerator<PassedEvents> {
  const collected = collectedEvents(watching.watch.endpoint);
  const all: Buffer[] = [];
  let start: Buffer | null = null;
  for await (const piece of pieces) {
    start ??= piece.start;
    all.push(piece.events);
    collected.add(piece);
    if (!piece.ended) watching.spend(piece);
    else {
      await released(piece, watching, collected.text);
      yield { ...piece, start, events: Buffer.concat(all) };
    }
  }
}

/** What comes, unchanged, and judged when it has ended in whatever way: a client that leaves early hides nothing. */
async function* watched<T>(
  pieces: AsyncIterable<T>,
  { watch, requestId }: Watching<T>,
  collected: Collected<T>,
): AsyncGenerator<T> {
  try {
    for await (const piece of pieces) {
      collected.add(piece);
      yield piece;
    }
  } finally {
    judgeLater(watch, collected.text, requestId);
  }
}

export const watchedChunks = (chunks: AsyncIterable<Chunk>, watching: Watching<Chunk>): AsyncIterable<Chunk> =>
  watching.watch.holds ? heldChunks(chunks, watching) : watched(chunks, watching, collectedChunks());

export const watchedEvents = (
  pieces: AsyncIterable<PassedEvents>,
  watching: Watching<PassedEvents>,
): AsyncIterable<PassedEvents> =>
  watching.watch.holds
    ? heldEvents(pieces, watching)
    : watched(pieces, watching, collectedEvents(watching.watch.endpoint));
