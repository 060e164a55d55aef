import { randomUUID } from 'node:crypto';
import { type Anchor, checkpointOf, newCheckpoint } from '../../../src/audit/log/checkpoint-event.ts';
import type { Keys } from '../../../src/audit/log/key-belief.ts';
import { beliefOf, keysIn, type Signers } from '../../../src/audit/log/keys.ts';
import { checkpointStream, leafOf } from '../../../src/audit/log/leaf.ts';
import { type Report, type VerifyOptions, verifyLog } from '../../../src/audit/log/verify/verify.ts';
import { aggregates } from '../../../src/domain/aggregates.ts';
import { isRemovable } from '../../../src/domain/streams.ts';
import { hashOf } from '../../../src/kernel/store/event-hash.ts';
import type { Recorded } from '../../../src/kernel/store/store.ts';
import { parsedCheckpoint, type SignedCheckpoint } from '../../../src/merkle/checkpoint.ts';
import { grown, noLeaves } from '../../../src/merkle/frontier.ts';
import type { MemoryStore } from '../../support/memory-store.ts';
import { begun, clock, origin, signers, write } from './scene.ts';

/** Numbers that a seed decides. */
export const randomOf = (seed: number) => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  /** From `low` to before `high`. */
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low));
  return { next, between, of: <T>(list: readonly T[]): T => list[between(0, list.length)]! };
};
export type Random = ReturnType<typeof randomOf>;

export const isCheckpoint = ({ stream }: Recorded): boolean => stream === checkpointStream;
export const leavesIn = (log: readonly Recorded[]): Recorded[] => log.filter((event) => !isCheckpoint(event));

/** Appends a checkpoint over the first leaves that no other covers; all of them by default. */
export const checkpoint = (store: MemoryStore, leaveOut = 0, by: Signers = signers, key = 1): void => {
  const leaves = leavesIn(store.log);
  const last = store.log.findLast(isCheckpoint);
  const size = last ? checkpointOf(last)!.checkpoint.size : 0;
  const added = leaves.slice(size, leaves.length - leaveOut);
  if (added.length === 0) return;
  const tree = grown(
    noLeaves,
    leaves.slice(0, size).map((event) => Buffer.from(leafOf(event).hash, 'base64')),
  );
  const anchor: Anchor | null = null;
  const event = newCheckpoint({
    tree,
    leaves: added.map((e) => leafOf(e)),
    anchor,
    origin,
    key,
    signer: by(key),
    clock,
  });
  store.plantAsIs(checkpointStream, [event]);
};

/** Events of all kinds, some a moment behind the checkpoint that does not cover them, and some behind the last. */
export const grow = (store: MemoryStore, random: Random, steps: number): void => {
  for (let step = 0; step < steps; step++) {
    for (let n = random.between(1, 9); n > 0; n--) write(store, random.between(0, 5), random.between(0, 6));
    checkpoint(store, random.between(0, 3));
  }
};

/** The keys of a log, as whoever has the secrets of its first one judges them. */
export const keysOf = (log: readonly Recorded[], by: Signers = signers): Promise<Keys> => {
  async function* read(stream: string) {
    yield* log.filter((event) => event.stream === stream);
  }
  return keysIn({ read }, beliefOf(by));
};

const streamsCovered = (log: readonly Recorded[]): number => {
  const lasting = leavesIn(log)
    .slice(1, coveredBy(log))
    .filter(({ stream }) => !isRemovable(stream));
  return new Set(lasting.map(({ stream }) => stream)).size;
};

export const signedLog = async (random: Random, steps = random.between(3, 9)): Promise<MemoryStore> => {
  const store = await begun();
  // At least some events that stay, on several streams: what a forger could want to touch.
  do grow(store, random, steps);
  while (streamsCovered(store.log) < 4);
  for (let n = random.between(0, 4); n > 0; n--) write(store, random.between(0, 5), n);
  return store;
};

/** What every sink has got. */
export const notesOf = (log: readonly Recorded[]): SignedCheckpoint[] =>
  log.filter(isCheckpoint).flatMap(({ data }) => parsedCheckpoint(String(data.note)) ?? []);

export const coveredBy = (log: readonly Recorded[]): number => notesOf(log).at(-1)?.size ?? 0;

export const verify = (log: readonly Recorded[], options: Partial<VerifyOptions> = {}): Promise<Report> =>
  verifyLog(
    (async function* () {
      yield* log;
    })(),
    { trusted: [signers(1).verifier], against: [], now: Date.UTC(2026, 0), ...options },
  );

/** A forger writes the chain of a stream anew, as far as it is one. */
export const chainedAnew = (log: readonly Recorded[], stream: string): Recorded[] => {
  if (!Object.hasOwn(aggregates, stream.slice(0, stream.indexOf('-')))) return [...log];
  let before: string | undefined;
  return log.map((event) => {
    if (event.stream !== stream) return event;
    const { prev: _, ...metadata } = event.metadata;
    const next = { ...event, metadata: before === undefined ? metadata : { ...metadata, prev: before } };
    before = hashOf(next);
    return next;
  });
};

/** The hashes and stubs beside the checkpoints are written anew too; the signed notes stay. */
export const hashedAnew = (log: readonly Recorded[]): Recorded[] => {
  const leaves = leavesIn(log).map((event) => leafOf(event));
  return log.map((event) => {
    if (!isCheckpoint(event)) return event;
    const { from, checkpoint } = checkpointOf(event)!;
    const own = leaves.slice(from, checkpoint.size);
    const hashes = Buffer.concat(own.map(({ hash }) => Buffer.from(hash, 'base64'))).toString('base64');
    const stubs = Object.fromEntries(own.flatMap(({ stub }, i) => (stub === undefined ? [] : [[from + i, stub]])));
    return { ...event, data: { ...event.data, hashes, stubs } };
  });
};

export const freshId = (): string => randomUUID();
