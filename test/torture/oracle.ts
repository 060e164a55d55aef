/**
 * The Jepsen-style oracle. A history of what was asked and answered, kept outside of the store's
 * process and files, is compared with what the store holds. Linear in operations and events, because ids are unique.
 */

/** One event of an append: its id and a hash of type, content and metadata. */
export interface Sent {
  readonly id: string;
  readonly hash: string;
}

/** `ok`: acknowledged. `fail`: refused, so nothing may be there. `info`: no answer, so all of it is there or none. */
type Outcome = 'ok' | 'fail' | 'info';

export interface Operation {
  readonly stream: string;
  readonly expected: bigint | 'no_stream';
  readonly events: readonly Sent[];
  /** When it was asked for, on the clock that all processes share. */
  readonly askedMs: number;
  outcome: Outcome;
  /** Of the last event, as acknowledged. */
  revision: bigint;
  position: bigint;
}

/** An event as the store gave it out. */
export interface Found extends Sent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: bigint;
  readonly type: string;
}

export interface Verdict {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly gaps: readonly string[];
  /** Everything else: other bytes, half an append, a refused one that is there, an order that time contradicts. */
  readonly wrong: readonly string[];
}

export const complaints = ({ lost, doubled, gaps, wrong }: Verdict): string[] => [
  ...lost,
  ...doubled,
  ...gaps,
  ...wrong,
];

/** CLOCK_MONOTONIC in milliseconds. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** What was asked and answered, in the order in which that happened. */
export class History {
  readonly operations: Operation[] = [];
  /** Answers that should not have been given, in words. */
  readonly unexpected: string[] = [];
  acknowledged = 0;
  private readonly happened: { readonly operation: Operation; readonly is: 'asked' | 'answered' }[] = [];

  ask(stream: string, expected: bigint | 'no_stream', events: readonly Sent[]): Operation {
    const operation: Operation = {
      stream,
      expected,
      events,
      askedMs: monotonicMs(),
      outcome: 'info',
      revision: -1n,
      position: -1n,
    };
    this.operations.push(operation);
    this.happened.push({ operation, is: 'asked' });
    return operation;
  }

  ok(operation: Operation, revision: bigint, position: bigint): void {
    this.acknowledged++;
    operation.outcome = 'ok';
    operation.revision = revision;
    operation.position = position;
    this.happened.push({ operation, is: 'answered' });
  }

  /** What was asked for after a moment and acknowledged all the same. */
  acknowledgedAfter(afterMs: number): Operation[] {
    return this.operations.filter(({ outcome, askedMs }) => outcome === 'ok' && askedMs > afterMs);
  }

  /** Ids of the events of the first so many appends that were acknowledged. */
  acknowledgedIds(count: number): string[] {
    const answered = this.happened.filter(({ is }) => is === 'answered').slice(0, count);
    return answered.flatMap(({ operation }) => operation.events.map(({ id }) => id));
  }

  fail(operation: Operation): void {
    operation.outcome = 'fail';
  }

  /** Compares all of `$all`, read forwards, with what was answered. */
  check(all: readonly Found[]): Verdict {
    const lost: string[] = [];
    const doubled: string[] = [];
    const gaps: string[] = [];
    const wrong = [...this.unexpected];
    const places = new Map<string, Found>();
    const lengths = new Map<string, bigint>();
    let before = -1n;
    for (const found of all) {
      if (found.position <= before) wrong.push(`position ${found.position} comes after ${before}`);
      before = found.position;
      const due = lengths.get(found.stream) ?? 0n;
      if (found.revision !== due) gaps.push(`${found.stream}: revision ${found.revision} where ${due} is due`);
      lengths.set(found.stream, found.revision + 1n);
      if (places.has(found.id)) doubled.push(`${found.stream}@${found.revision} repeats ${found.id}`);
      else places.set(found.id, found);
    }
    const known = new Set<string>();
    const isThere = new Map<Operation, bigint>();
    for (const operation of this.operations) {
      const { stream, events, outcome, revision, position } = operation;
      const name = `${stream}@${outcome === 'ok' ? revision : `after ${operation.expected}`}`;
      const there = events.map(({ id }) => places.get(id)).filter((found) => found !== undefined);
      for (const { id } of events) known.add(id);
      if (outcome === 'fail' && there.length > 0) wrong.push(`${name} was refused and is there`);
      if (there.length < events.length) {
        if (outcome === 'ok') lost.push(`${name} was acknowledged and is not there`);
        else if (there.length > 0) wrong.push(`${name}: ${there.length} of ${events.length} events of one append`);
        continue;
      }
      const last = there.at(-1)!;
      isThere.set(operation, last.position);
      if (outcome === 'ok' && (last.revision !== revision || last.position !== position))
        wrong.push(`${name} was acknowledged at ${position} and is at ${last.position}`);
      const first = last.revision - BigInt(events.length) + 1n;
      for (const [i, found] of there.entries()) {
        if (found.stream !== stream || found.revision !== first + BigInt(i))
          wrong.push(`${name}: event ${i} is elsewhere`);
        if (found.hash !== events[i]!.hash) wrong.push(`${name}: event ${i} has other bytes`);
      }
    }
    for (const { id, type, stream } of all)
      if (!known.has(id) && !type.startsWith('$')) wrong.push(`${stream}: nobody wrote ${id}`);
    this.checkTime(isThere, wrong);
    return { lost, doubled, gaps, wrong };
  }

  /** What was acknowledged before something else was asked for is before it in the log. */
  private checkTime(isThere: ReadonlyMap<Operation, bigint>, wrong: string[]): void {
    const floors = new Map<Operation, bigint>();
    let highest = -1n;
    for (const { operation, is } of this.happened) {
      if (is === 'answered') {
        if (operation.position > highest) highest = operation.position;
      } else floors.set(operation, highest);
    }
    for (const [operation, position] of isThere) {
      const floor = floors.get(operation)!;
      if (position <= floor)
        wrong.push(`${operation.stream}: ${position} was asked for after ${floor} was acknowledged`);
    }
  }
}

/** Where two readings of the same events differ first, in words; undefined when they do not. */
export function difference(what: string, seen: readonly Found[], wanted: readonly Found[]): string | undefined {
  for (let i = 0; i < Math.max(seen.length, wanted.length); i++) {
    const [a, b] = [seen[i], wanted[i]];
    if (a?.id !== b?.id || a?.position !== b?.position || a?.hash !== b?.hash)
      return `${what}: place ${i} has ${a?.stream}@${a?.revision} instead of ${b?.stream}@${b?.revision}`;
  }
  return undefined;
}
