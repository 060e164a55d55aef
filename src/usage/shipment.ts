import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { type Decision, decisionStream } from '../domain/decision-facts.ts';
import { type Settlement, usageSettled, usageStream } from '../domain/usage-facts.ts';
import { eventId } from '../kernel/event-id.ts';
import { type EventStore, type Expected, type NewEvent, WrongRevision } from '../kernel/store.ts';
import { type Entry, entriesOf } from './journal/entry.ts';
import type { JournalFiles, Sent } from './journal/files.ts';

/** Settlements of one event: some 100 KB, folded in a few milliseconds. */
const mostInEvent = 500;
/** And of one append, well below the store's bound of 1 MiB. */
const mostInAppend = 1_000;
/** How often a batch gives way to other gateways that were first. */
const attempts = 8;

/** What of one file goes to one stream in one append. */
interface Batch {
  readonly stream: string;
  readonly settlements: readonly Settlement[];
  readonly decisions: readonly Decision[];
}

const pieces = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));

/** The same entries make the same batches, whenever it is asked. */
const batchesOf = (entries: readonly Entry[]): readonly Batch[] => {
  const byStream = new Map<string, Settlement[]>();
  const decided = new Map<string, Decision[]>();
  const seen = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === 'decided') {
      const { decision } = entry;
      // A line that was written again stands in the file twice.
      if (seen.has(decision.id)) continue;
      seen.add(decision.id);
      const stream = decisionStream(decision.decided_at);
      const decisions = decided.get(stream) ?? [];
      decided.set(stream, decisions);
      decisions.push(decision);
      continue;
    }
    if (entry.kind !== 'settled' || seen.has(entry.settlement.request_id)) continue;
    const { settlement } = entry;
    seen.add(settlement.request_id);
    const stream = usageStream(settlement.settled_at);
    const settlements = byStream.get(stream) ?? [];
    byStream.set(stream, settlements);
    settlements.push(settlement);
  }
  return [
    ...[...byStream].flatMap(([stream, all]) =>
      pieces(all, mostInAppend).map((settlements) => ({ stream, settlements, decisions: [] })),
    ),
    ...[...decided].flatMap(([stream, all]) =>
      pieces(all, mostInAppend).map((decisions) => ({ stream, settlements: [], decisions })),
    ),
  ];
};

const eventsOf = ({ stream, settlements, decisions }: Batch, at: number): NewEvent[] => {
  /** @param names of what is in it: nobody else has them */
  const eventOf = (type: string, names: readonly string[], data: Record<string, unknown>): NewEvent => {
    const id = eventId(hash('sha256', names.join()), 0, stream, type, {});
    const actor = { type: 'system', id: 'usage' } as const;
    return { id, type, data, metadata: { at, actor, $correlationId: id, $causationId: id, v: 1 } };
  };
  const requestsIn = (piece: readonly Settlement[]) => piece.map(({ request_id }) => request_id);
  const idsIn = (piece: readonly Decision[]) => piece.map(({ id }) => id);
  return [
    ...pieces(settlements, mostInEvent).map((piece) =>
      eventOf('usage.settled', requestsIn(piece), { ...usageSettled(piece) }),
    ),
    ...pieces(decisions, mostInEvent).map((piece) => eventOf('policies.decided', idsIn(piece), { decisions: piece })),
  ];
};

/**
 * Sends the files of a journal to the event store, each exactly once: where a batch is sent is written down before it is, so
 * that a repeat, after a lost answer or after the end of the process, names the same place, where the store recognises it.
 */
export const shipment = (files: JournalFiles, store: Pick<EventStore, 'append'>, clock: Clock) => {
  /** Where each stream is believed to end. Wrong only until the first append. */
  const ends = new Map<string, Expected>();

  const send = async (number: number, index: number, batch: Batch): Promise<void> => {
    const intents = await files.intents(number);
    const events = eventsOf(batch, clock.wall());
    let sent: Sent | undefined = intents[index];
    for (let attempt = 1; ; attempt++) {
      if (sent === undefined) {
        sent = { stream: batch.stream, expected: ends.get(batch.stream) ?? 'no_stream' };
        await files.intend(number, { ...intents, [index]: sent });
      }
      try {
        const { revision } = await store.append(sent.stream, events, sent.expected);
        ends.set(sent.stream, revision);
        return;
      } catch (error) {
        if (!(error instanceof WrongRevision)) throw error;
        // It is not there, and at that place it can never be.
        ends.set(sent.stream, error.actual ?? 'no_stream');
        sent = undefined;
        if (attempt === attempts) throw error;
      }
    }
  };

  return {
    /**
     * @param entries of the file, where they are at hand
     * @throws StoreUnavailable, or what the disk says; it may be called again
     */
    async ship(number: number, entries?: readonly Entry[]): Promise<void> {
      const batches = batchesOf(entries ?? entriesOf(await files.read(number, 'open')).entries);
      for (const [index, batch] of batches.entries()) await send(number, index, batch);
      await files.sent(number);
    },
  };
};
