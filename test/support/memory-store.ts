import { whose } from '../../src/domain/streams.ts';
import { chained } from '../../src/kernel/aggregate/chained.ts';
import {
  type Appended,
  type EventStore,
  type Expected,
  type HeadPoll,
  type NewEvent,
  type Recorded,
  type StoreState,
  StoreUnavailable,
  WrongRevision,
} from '../../src/kernel/store/store.ts';
import { feed } from './memory-feed.ts';

/**
 * What goes wrong with one append: nothing; it is lost, or lands and the answer is lost, or lands after the answer was
 * given up; a rival's events get there first; or it lands and is then called a conflict, as a confused repeat would be.
 */
export type Fault =
  | 'none'
  | 'lost'
  | 'answer-lost'
  | 'late'
  | 'conflict-after-landing'
  | { readonly rival: NewEvent[] };

export interface MemoryOptions {
  /** Decides about each append; default: nothing goes wrong. */
  readonly fault?: (stream: string, events: readonly NewEvent[], expected: Expected) => Fault;
  /** Awaited before an append takes effect, before it answers, before each read and delivery, and before each event of a read that is made once. */
  readonly delay?: (label: string) => Promise<void>;
  /** Between 0 and 1; makes the gaps between positions. */
  readonly random?: () => number;
}

export interface MemoryStore extends EventStore {
  /** Everything recorded, in the global order. */
  readonly log: readonly Recorded[];
  /** Seconds that the events of a stream may grow old; nothing is hidden for it. */
  readonly ages: ReadonlyMap<string, number>;
  /** While false every call but close is answered StoreUnavailable and subscriptions stand still. */
  available: boolean;
  /** Hides the first `count` events of a stream, as their age does. */
  outlive(stream: string, count: number): void;
  /** Removes an event from everywhere, as a scavenge does with what is hidden. */
  scavenge(event: Recorded): void;
  /**
   * Puts an older copy in the log's place, which has its first `count` events alone. Every connection breaks: a call that is made once
   * fails, any other goes on with what is there now, and subscriptions behind the position that they had.
   */
  goBack(count: number): void;
  /** Looks at the end of the log, as the store's probe does by itself. `askedAt`: monotonic. */
  look(askedAt: number): void;
  /** Appends without any check, fault or delay, as another process would: each event names the hash of the one before. */
  plant(stream: string, events: readonly NewEvent[]): Recorded[];
  /** The same, as the events are. */
  plantAsIs(stream: string, events: readonly NewEvent[]): Recorded[];
}

/** The store's own events have types with a `$`; readers of the global order do not see them. */
const isVisible = (event: Recorded): boolean => !event.type.startsWith('$');

/** What comes after a position, found from the middle: a test of many thousand events asks for each of them. */
const visibleAfter = (log: readonly Recorded[], after: bigint | null, cap: number): Recorded[] => {
  let [low, high] = [0, log.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (after !== null && log[middle]!.position <= after) low = middle + 1;
    else high = middle;
  }
  const found: Recorded[] = [];
  for (let at = low; at < log.length && found.length < cap; at++) if (isVisible(log[at]!)) found.push(log[at]!);
  return found;
};

/** The port in memory, with the semantics that the real ones promise. */
export const memoryStore = (options: MemoryOptions = {}): MemoryStore => {
  const { fault = () => 'none' as const, delay = async () => {}, random = Math.random } = options;
  const log: Recorded[] = [];
  const streams = new Map<string, Recorded[]>();
  const ages = new Map<string, number>();
  /** How many of a stream's events were removed. */
  const hidden = new Map<string, number>();
  const feeds = new Set<ReturnType<typeof feed>>();
  const late = new Set<Promise<void>>();
  const polls = new Set<(poll: HeadPoll) => void>();
  let position = 0n;
  let available = true;
  let closed = false;
  /** Of copies of the log that have been here. */
  let copies = 0;

  const reachable = (): void => {
    if (closed || !available) throw new StoreUnavailable('the memory store is switched off');
  };

  /** Fails from the moment at which the connection of a call that is made once is lost. */
  const connection = (once = false): (() => void) => {
    const copy = copies;
    return () => {
      reachable();
      if (once && copy !== copies) throw new StoreUnavailable('the connection was lost');
    };
  };

  async function* given(events: readonly Recorded[], isHeld: () => void, once = false): AsyncGenerator<Recorded> {
    for (const event of events) {
      if (once) await delay('an event of a read');
      isHeld();
      yield event;
    }
  }

  const plant = (stream: string, events: readonly NewEvent[]): Recorded[] => {
    const known = streams.get(stream) ?? [];
    streams.set(stream, known);
    const recorded = events.map((event) => {
      position += BigInt(1 + Math.floor(random() * 1000));
      // As over the wire: JSON, so keys that hold undefined are gone.
      const copy = JSON.parse(JSON.stringify(event)) as NewEvent;
      const entry: Recorded = { ...copy, stream, revision: known.length, position };
      known.push(entry);
      log.push(entry);
      return entry;
    });
    for (const each of feeds) each.wake();
    return recorded;
  };

  const plantChained = (stream: string, events: readonly NewEvent[]): Recorded[] => {
    const known = streams.get(stream) ?? [];
    // What somebody else has written there is passed over, where there is something of ours.
    const last = known.findLast((event) => whose(event) === 'ours') ?? known.at(-1) ?? null;
    return plant(stream, chained(stream, { revision: known.at(-1)?.revision ?? null, last }, events));
  };

  const place = (stream: string, events: readonly NewEvent[], expected: Expected): Appended => {
    const known = streams.get(stream) ?? [];
    const from = expected === 'no_stream' ? 0 : expected + 1;
    const there = known.slice(from, from + events.length);
    const repeated = there.length === events.length && there.every((event, index) => event.id === events[index]?.id);
    if (!repeated && known.length !== from) throw new WrongRevision(stream, expected, known.at(-1)?.revision ?? null);
    const last = (repeated ? there : plant(stream, events)).at(-1)!;
    return { revision: last.revision, position: last.position };
  };

  return {
    log,
    ages,
    plant: plantChained,
    plantAsIs: plant,
    goBack(count) {
      copies++;
      log.length = Math.min(count, log.length);
      streams.clear();
      for (const event of log) streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
      position = log.at(-1)?.position ?? 0n;
      for (const each of feeds) each.doubt();
    },
    look(askedAt) {
      if (!available) return;
      for (const listener of polls) listener({ askedAt, end: log.at(-1)?.position ?? 0n });
    },
    get state(): StoreState {
      return available ? { is: 'there' } : { is: 'lost', why: 'the memory store is switched off', refuses: false };
    },
    onHeadPoll(listener) {
      polls.add(listener);
      return () => polls.delete(listener);
    },
    get available() {
      return available;
    },
    set available(value) {
      available = value;
      if (value) for (const each of feeds) each.wake();
    },
    async append(stream, events, expected, { once } = {}) {
      if (events.length === 0) throw new TypeError('an append of no events would say it succeeded');
      const isHeld = connection(once);
      await delay(`append to ${stream}`);
      isHeld();
      const plan = fault(stream, events, expected);
      if (plan === 'lost') throw new StoreUnavailable('the append was lost');
      if (plan === 'late') {
        const landing = delay(`late append to ${stream}`).then(() => {
          // Too late for its revision: the store refuses it and nobody hears.
          if (!closed) place(stream, events, expected);
        });
        const settled = landing.catch(() => {}).then(() => void late.delete(settled));
        late.add(settled);
        throw new StoreUnavailable('the append is late');
      }
      if (typeof plan === 'object') plantChained(stream, plan.rival);
      const appended = place(stream, events, expected);
      await delay(`answer from ${stream}`);
      isHeld();
      if (plan === 'answer-lost') throw new StoreUnavailable('the answer was lost');
      if (plan === 'conflict-after-landing') throw new WrongRevision(stream, expected, appended.revision);
      return appended;
    },
    async limitAge(stream, seconds) {
      reachable();
      ages.set(stream, seconds);
    },
    async proveRights() {
      reachable();
    },
    async remove(stream) {
      reachable();
      hidden.set(stream, streams.get(stream)?.length ?? 0);
    },
    outlive(stream, count) {
      hidden.set(stream, count);
    },
    scavenge(event) {
      log.splice(log.indexOf(event), 1);
      hidden.set(event.stream, Math.max(hidden.get(event.stream) ?? 0, event.revision + 1));
    },
    async *read(stream, { from = 0, limit = Number.POSITIVE_INFINITY, once } = {}) {
      const isHeld = connection(once);
      await delay(`read of ${stream}`);
      isHeld();
      const first = Math.max(from, hidden.get(stream) ?? 0);
      yield* given((streams.get(stream) ?? []).slice(first, first + limit), isHeld, once);
    },
    async *readAll({ from, direction, limit, withOwn = false, once }) {
      const isHeld = connection(once);
      await delay('read of all');
      isHeld();
      const visible = withOwn ? log : log.filter(isVisible);
      const forwards = visible.filter((event) => from === 'start' || (from !== 'end' && event.position >= from));
      const backwards = visible
        .filter((event) => from === 'end' || (from !== 'start' && event.position < from))
        .reverse();
      yield* given((direction === 'forwards' ? forwards : backwards).slice(0, limit), isHeld, once);
    },
    subscribe(wanted) {
      const next = (after: bigint | null, cap: number) => (available ? visibleAfter(log, after, cap) : undefined);
      const one = feed(wanted, next, () => delay('delivery'));
      feeds.add(one);
      return { close: () => one.close().finally(() => feeds.delete(one)) };
    },
    async close() {
      closed = true;
      await Promise.all([...[...feeds].map((each) => each.close()), ...late]);
    },
  };
};
