import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { type Entry, entriesOf } from '../data/account/journal/entry.ts';
import type { JournalFiles, Sent } from '../data/account/journal/files.ts';
import { decisionSeconds, decisionStream } from '../domain/policy/decision-events.ts';
import { accountSeconds, usageSettled, usageStream } from '../domain/usage/usage-events.ts';
import { eventId } from '../kernel/store/event-id.ts';
import { type EventStore, type Expected, type NewEvent, WrongRevision } from '../kernel/store/store.ts';

/** Deterministic, so that a repeat makes the same batches. */
export interface Parting {
  readonly mostInEvent: number;
  readonly mostInAppend: number;
}

/** Some 100 KB, folded in a few milliseconds; an append is far below the store's 1 MiB. */
const usual: Parting = { mostInEvent: 500, mostInAppend: 1_000 };
/** After other gateways appended first. */
const attempts = 8;

type Sendable = Exclude<Entry, { readonly kind: 'begun' }>;

/** For one stream, in one append. */
interface Batch {
  readonly stream: string;
  readonly keptSeconds: number;
  readonly entries: readonly Sendable[];
}

const idOf = (entry: Sendable): string => (entry.kind === 'settled' ? entry.settlement.request_id : entry.decision.id);
const streamOf = (entry: Sendable): string =>
  entry.kind === 'settled' ? usageStream(entry.settlement.settled_at) : decisionStream(entry.decision.decided_at);

const keptSecondsOf = ({ kind }: Sendable): number => (kind === 'settled' ? accountSeconds : decisionSeconds);

export const pieces = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));

const batchesOf = (entries: readonly Entry[], mostInAppend: number): readonly Batch[] => {
  const byStream = new Map<string, Sendable[]>();
  const seen = new Set<string>();
  for (const entry of entries) {
    // A rewritten line is in the file twice.
    if (entry.kind === 'begun' || seen.has(idOf(entry))) continue;
    seen.add(idOf(entry));
    const stream = streamOf(entry);
    const known = byStream.get(stream);
    if (known) known.push(entry);
    else byStream.set(stream, [entry]);
  }
  return [...byStream].flatMap(([stream, all]) =>
    pieces(all, mostInAppend).map((piece) => ({ stream, keptSeconds: keptSecondsOf(all[0]!), entries: piece })),
  );
};

const bodyOf = (entries: readonly Sendable[]): Pick<NewEvent, 'type' | 'data'> => {
  const settlements = entries.flatMap((entry) => (entry.kind === 'settled' ? [entry.settlement] : []));
  if (settlements.length > 0) return { type: 'usage.settled', data: { ...usageSettled(settlements) } };
  const decisions = entries.flatMap((entry) => (entry.kind === 'decided' ? [entry.decision] : []));
  return { type: 'policies.decided', data: { decisions } };
};

const eventOf = (stream: string, piece: readonly Sendable[], at: number): NewEvent => {
  const { type, data } = bodyOf(piece);
  // From the ids of its entries, so it is unique.
  const id = eventId(hash('sha256', piece.map(idOf).join()), 0, stream, type, {});
  const actor = { type: 'system', id: 'usage' } as const;
  return { id, type, data, metadata: { at, actor, $correlationId: id, $causationId: id, v: 1 } };
};

const nothing = async (): Promise<void> => {};

/** After an append at the expected revision. */
const endBehind = (expected: Expected, events: number): number => (expected === 'no_stream' ? -1 : expected) + events;

/**
 * Sends each file exactly once. The place of a batch is known before it is sent, and a repeat uses the same, where the
 * store recognises it: it is written down, or follows the batch before on the same stream.
 */
export const shipment = (
  files: JournalFiles,
  store: Pick<EventStore, 'append' | 'limitAge'>,
  clock: Clock,
  { mostInEvent, mostInAppend }: Parting = usual,
) => {
  /** Guessed ends of streams, corrected by the first append. */
  const ends = new Map<string, Expected>();
  /** Streams whose `$maxAge` is set. */
  const limited = new Set<string>();

  const placeOf = (stream: string): Sent => ({ stream, expected: ends.get(stream) ?? 'no_stream' });

  const eventsOf = ({ stream, entries }: Batch): NewEvent[] =>
    pieces(entries, mostInEvent).map((piece) => eventOf(stream, piece, clock.wall()));

  /** @param place of an earlier attempt, or undefined. @param intend records a new place */
  const send = async (batch: Batch, place: Sent | undefined, intend: (place: Sent) => Promise<void>): Promise<void> => {
    const { stream, keptSeconds } = batch;
    const events = eventsOf(batch);
    // First, because an event without the limit would stay for ever after a crash.
    if (!limited.has(stream)) await store.limitAge(stream, keptSeconds);
    limited.add(stream);
    let sent = place;
    for (let attempt = 1; ; attempt++) {
      if (sent === undefined) {
        sent = placeOf(stream);
        await intend(sent);
      }
      try {
        await store.append(stream, events, sent.expected);
        ends.set(stream, endBehind(sent.expected, events.length));
        return;
      } catch (error) {
        if (!(error instanceof WrongRevision)) throw error;
        // It is not there, and never can be.
        ends.set(stream, error.actual ?? 'no_stream');
        sent = undefined;
        if (attempt === attempts) throw error;
      }
    }
  };

  return {
    /** Repeatable. @param stored called before the file is renamed. @throws StoreUnavailable, the disk's error */
    async ship(number: number, entries?: readonly Entry[], stored = nothing): Promise<void> {
      if (files.isSent(number)) return files.sent(number);
      const all = entries ?? entriesOf(await files.read(number, 'open')).entries;
      const intents = await files.intents(number);
      const batches = batchesOf(all, mostInAppend);
      for (const [index, batch] of batches.entries()) {
        const isBehind = batches[index - 1]?.stream === batch.stream;
        await send(batch, intents[index] ?? (isBehind ? placeOf(batch.stream) : undefined), async (place) => {
          intents[index] = place;
          await files.intend(number, intents);
        });
      }
      await stored();
      await files.sent(number);
    },
  };
};
