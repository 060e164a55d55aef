import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { type Decision, decisionStream } from '../domain/decision-facts.ts';
import { type Settlement, usageStream } from '../domain/usage-facts.ts';
import { eventId } from '../kernel/event-id.ts';
import { type EventStore, type Expected, type NewEvent, WrongRevision } from '../kernel/store.ts';
import { entriesOf } from './journal/entry.ts';
import type { JournalFiles, Sent } from './journal/files.ts';

/** Settlements of one event: some 100 KB, folded in two milliseconds. */
const mostInEvent = 250;
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

/** The same text makes the same batches, whenever it is asked. */
const batchesOf = (text: string): readonly Batch[] => {
  const byStream = new Map<string, Settlement[]>();
  const decided = new Map<string, Decision[]>();
  const seen = new Set<string>();
  for (const entry of entriesOf(text).entries) {
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
    seen.add(entry.settlement.request_id);
    const stream = usageStream(entry.settlement.settled_at);
    const settlements = byStream.get(stream) ?? [];
    byStream.set(stream, settlements);
    settlements.push(entry.settlement);
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
  const eventOf = (type: string, piece: readonly object[], data: Record<string, unknown>): NewEvent => {
    // The requests' ids are in it, so that it is nobody else's.
    const id = eventId(hash('sha256', JSON.stringify(piece)), 0, stream, type, {});
    const actor = { type: 'system', id: 'usage' } as const;
    return { id, type, data, metadata: { at, actor, $correlationId: id, $causationId: id, v: 1 } };
  };
  return [
    ...pieces(settlements, mostInEvent).map((piece) => eventOf('usage.settled', piece, { settlements: piece })),
    ...pieces(decisions, mostInEvent).map((piece) => eventOf('policies.decided', piece, { decisions: piece })),
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
    /** @throws StoreUnavailable, or what the disk says; it may be called again */
    async ship(number: number): Promise<void> {
      const batches = batchesOf(await files.read(number, 'open'));
      for (const [index, batch] of batches.entries()) await send(number, index, batch);
      await files.sent(number);
    },
  };
};
