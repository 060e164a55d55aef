import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { type Settlement, usageSettled, usageStream } from '../domain/usage-facts.ts';
import { eventId } from '../kernel/event-id.ts';
import { type EventStore, type Expected, type NewEvent, WrongRevision } from '../kernel/store.ts';
import { entriesOf } from './journal/entry.ts';
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
}

const pieces = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));

const settledIn = (text: string): readonly Settlement[] =>
  entriesOf(text).entries.flatMap((entry) => (entry.kind === 'settled' ? entry.settlement : []));

/** The same settlements make the same batches, whenever it is asked. */
const batchesOf = (settled: readonly Settlement[]): readonly Batch[] => {
  const byStream = new Map<string, Settlement[]>();
  const seen = new Set<string>();
  for (const settlement of settled) {
    if (seen.has(settlement.request_id)) continue;
    seen.add(settlement.request_id);
    const stream = usageStream(settlement.settled_at);
    const settlements = byStream.get(stream) ?? [];
    byStream.set(stream, settlements);
    settlements.push(settlement);
  }
  return [...byStream].flatMap(([stream, all]) =>
    pieces(all, mostInAppend).map((settlements) => ({ stream, settlements })),
  );
};

const eventsOf = ({ stream, settlements }: Batch, at: number): NewEvent[] =>
  pieces(settlements, mostInEvent).map((piece) => {
    const type = 'usage.settled';
    // Of the requests' ids, so that it is nobody else's.
    const id = eventId(hash('sha256', piece.map(({ request_id }) => request_id).join()), 0, stream, type, {});
    const actor = { type: 'system', id: 'usage' } as const;
    const metadata = { at, actor, $correlationId: id, $causationId: id, v: 1 };
    return { id, type, data: usageSettled(piece), metadata };
  });

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
     * @param settlements of the file, where they are at hand
     * @throws StoreUnavailable, or what the disk says; it may be called again
     */
    async ship(number: number, settlements?: readonly Settlement[]): Promise<void> {
      const batches = batchesOf(settlements ?? settledIn(await files.read(number, 'open')));
      for (const [index, batch] of batches.entries()) await send(number, index, batch);
      await files.sent(number);
    },
  };
};
