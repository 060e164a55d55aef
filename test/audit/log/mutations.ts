import { checkpointOf } from '../../../src/audit/log/checkpoint-event.ts';
import type { FindingClass } from '../../../src/audit/log/verify/finding.ts';
import type { VerifyOptions } from '../../../src/audit/log/verify/verify.ts';
import { isRemovable } from '../../../src/domain/streams.ts';
import { canonicalEvent } from '../../../src/kernel/store/event-hash.ts';
import type { Recorded } from '../../../src/kernel/store/store.ts';
import { checkpointText } from '../../../src/merkle/checkpoint.ts';
import { signed } from '../../../src/merkle/note.ts';
import { begun, copyOf, signersOf } from './scene.ts';
import {
  chainedAnew,
  coveredBy,
  freshId,
  grow,
  hashedAnew,
  isCheckpoint,
  leavesIn,
  notesOf,
  type Random,
} from './signed-log.ts';

/** What a forger leaves, and what has to be said of it first. */
interface Forged {
  readonly log: readonly Recorded[];
  readonly class: FindingClass;
  readonly index: number;
  readonly options?: Partial<VerifyOptions>;
}
export type Mutation = (log: readonly Recorded[], random: Random) => Forged | Promise<Forged>;

/** A leaf that a checkpoint covers and that stays for ever, from `low` on. */
const anyLeaf = (log: readonly Recorded[], random: Random, low = 1, high = coveredBy(log)): number => {
  const leaves = leavesIn(log);
  const fit = leaves.flatMap(({ stream }, i) => (i >= low && i < high && !isRemovable(stream) ? [i] : []));
  return random.of(fit);
};

/** Where in the log a leaf is. */
const placeOf = (log: readonly Recorded[], leaf: number): number => log.indexOf(leavesIn(log)[leaf]!);

const at = (log: readonly Recorded[], leaf: number, change: (event: Recorded) => Recorded): Recorded[] =>
  log.with(placeOf(log, leaf), change(leavesIn(log)[leaf]!));

const edited = (event: Recorded): Recorded => ({ ...event, data: { ...event.data, name: `not ${event.data.name}` } });

/** One character of the event's canonical text is another, and it still is an event. */
const otherByte = (event: Recorded, random: Random): Recorded => {
  const text = canonicalEvent(event);
  for (;;) {
    const place = random.between(0, text.length);
    const char = String.fromCharCode(random.between(32, 127));
    try {
      const other = JSON.parse(text.slice(0, place) + char + text.slice(place + 1)) as Recorded;
      const same = { ...event, ...other };
      if (same.stream === event.stream && same.metadata && canonicalEvent(same) !== text) return same;
    } catch {
      // Not JSON any more: a store would have refused it.
    }
  }
};

const isLate = (log: readonly Recorded[], index: number): number =>
  notesOf(log).findLast(({ size }) => size <= index)?.size ?? 0;

/** Where checkpoints are behind which leaves follow that a later one covers. */
const olderCheckpoints = (log: readonly Recorded[]): number[] =>
  log.flatMap((event, i) => {
    const isOlder = leavesIn(log.slice(0, i)).length < coveredBy(log);
    return isCheckpoint(event) && isOlder ? [i] : [];
  });

/** Another history from a checkpoint on, signed with the right key. */
const forkedAt = async (log: readonly Recorded[], random: Random, steps: number) => {
  const place = random.of(olderCheckpoints(log));
  const store = await begun();
  const kept = log.slice(0, place + 1);
  for (const event of kept.slice(store.log.length)) store.plantAsIs(event.stream, [copyOf(event)]);
  // What stays of the log before has to be the very same.
  const same = [...kept, ...store.log.slice(kept.length)];
  (store.log as Recorded[]).splice(0, store.log.length, ...same);
  grow(store, random, steps);
  const fork = leavesIn(kept).length;
  return { store, fork };
};

/** What a forger can do to a log, and the two of a whole log that is put in the place of another. */
export const mutations: Readonly<Record<string, Mutation>> = {
  'edit byte': (log, random) => {
    const index = anyLeaf(log, random);
    return { log: at(log, index, (event) => otherByte(event, random)), class: 'altered', index };
  },
  'edit and canonicalise': (log, random) => {
    const index = anyLeaf(log, random);
    return { log: at(log, index, edited), class: 'altered', index };
  },
  'edit and recompute the chain': (log, random) => {
    const index = anyLeaf(log, random);
    const { stream } = leavesIn(log)[index]!;
    return { log: chainedAnew(at(log, index, edited), stream), class: 'altered', index };
  },
  'delete in the middle': (log, random) => {
    const index = anyLeaf(log, random, 1, coveredBy(log) - 1);
    return { log: log.toSpliced(placeOf(log, index), 1), class: 'missing', index };
  },
  'delete the tail': (log, random) => {
    const index = anyLeaf(log, random);
    const lost = new Set(leavesIn(log).slice(index));
    return { log: log.filter((event) => !lost.has(event)), class: 'missing', index };
  },
  duplicate: (log, random) => {
    const first = anyLeaf(log, random, 1, coveredBy(log) - 1);
    const index = random.between(first + 1, coveredBy(log));
    return { log: log.toSpliced(placeOf(log, index), 0, leavesIn(log)[first]!), class: 'duplicated', index };
  },
  'reorder two': (log, random) => {
    const index = anyLeaf(log, random, 0, coveredBy(log) - 1);
    const other = anyLeaf(log, random, index + 1);
    if (other === undefined) return mutations['reorder two']!(log, random);
    const [one, two] = [placeOf(log, index), placeOf(log, other)];
    return { log: log.with(one, log[two]!).with(two, log[one]!), class: 'reordered', index };
  },
  'swap streams': (log, random) => {
    const leaves = leavesIn(log);
    for (;;) {
      const [index, other] = [anyLeaf(log, random), anyLeaf(log, random)];
      const [one, two] = [leaves[index]!, leaves[other]!];
      if (one.stream === two.stream || index > other) continue;
      const renamed = (event: Recorded, { stream, revision }: Recorded) => ({ ...event, stream, revision });
      const swapped = at(log, index, (event) => renamed(event, two));
      return { log: swapped.with(log.indexOf(two), renamed(two, one)), class: 'swapped', index };
    }
  },
  'insert a forged one': (log, random) => {
    const index = random.between(1, coveredBy(log));
    const like = leavesIn(log)[anyLeaf(log, random)]!;
    const forged = edited({ ...like, id: freshId(), revision: like.revision + 1 });
    return { log: log.toSpliced(placeOf(log, index), 0, forged), class: 'inserted', index };
  },
  'roll back to an older checkpoint': (log, random) => {
    const kept = log.slice(0, random.of(olderCheckpoints(log)) + 1);
    return { log: kept, class: 'rolled-back', index: leavesIn(kept).length };
  },
  'sign with another key': (log) => {
    const other = signersOf('another')(1);
    const again = log.map((event) => {
      if (!isCheckpoint(event)) return event;
      const { checkpoint } = checkpointOf(event)!;
      return { ...event, data: { ...event.data, note: signed(checkpointText(checkpoint), other) } };
    });
    return { log: again, class: 'signature', index: 0 };
  },
  'replace the genesis': (log) => ({
    log: at(log, 0, (event) => ({ ...event, data: { log_id: freshId() } })),
    class: 'genesis',
    index: 0,
  }),
  'split view': async (log, random) => {
    const { store, fork } = await forkedAt(log, random, 12);
    const index = isLate(log, fork);
    return { log: store.log, class: 'forked', index };
  },
  'export, edit, import': (log, random) => {
    const index = anyLeaf(log, random);
    const { stream } = leavesIn(log)[index]!;
    const forged = hashedAnew(chainedAnew(at(log, index, edited), stream));
    return { log: forged, class: 'altered', index: isLate(log, index) };
  },
  'export, edit, import without the checkpoints': (log, random) => {
    const index = anyLeaf(log, random);
    const { stream } = leavesIn(log)[index]!;
    const forged = chainedAnew(at(log, index, edited), stream).filter((event) => !isCheckpoint(event));
    return { log: forged, class: 'forked', index: isLate(log, index) };
  },
  'restore an older backup and go on': async (log, random) => {
    const { store, fork } = await forkedAt(log, random, 1);
    const seen = notesOf(log).find(({ size }) => size > fork);
    const size = leavesIn(store.log).length;
    // What a checkpoint has seen is either another now, or not there again yet.
    if (seen && seen.size <= size) return { log: store.log, class: 'forked', index: isLate(log, fork) };
    return { log: store.log, class: 'rolled-back', index: size };
  },
};
