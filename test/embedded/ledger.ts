import { type AllStreamResolvedEvent, type EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { collect } from './store-under-test.ts';

/** One acknowledged append, as its writer saw it. Kept outside the store's process and files. */
interface Acked {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: bigint;
  readonly ids: readonly string[];
}

/** Appends from many writers, each to a stream of its own at the exact revision, and remembers every answer. */
export class Ledger {
  readonly acked: Acked[] = [];
  private readonly run: string;

  constructor(run: string) {
    this.run = run;
  }

  /** Writes until the store is gone; an append without an answer may or may not have happened. */
  async write(client: EventStoreDBClient, writers: number): Promise<void> {
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        const stream = `ledger-${this.run}_${writer}`;
        for (let revision = -1n; ; ) {
          const events = Array.from({ length: 1 + (Number(revision + 1n) % 3) }, () =>
            jsonEvent({ type: 'kept', data: { writer } }),
          );
          try {
            const expectedRevision = revision < 0n ? ('no_stream' as const) : revision;
            const answer = await client.appendToStream(stream, events, { expectedRevision });
            revision = answer.nextExpectedRevision;
            this.acked.push({
              stream,
              revision,
              position: answer.position!.commit,
              ids: events.map((event) => event.id),
            });
          } catch {
            return;
          }
        }
      }),
    );
  }

  /** What is wrong with the store's contents, against everything that was acknowledged. */
  async faults(client: EventStoreDBClient): Promise<string[]> {
    const faults: string[] = [];
    const streams = new Map<string, AllStreamResolvedEvent[]>();
    let before = 0n;
    for (const resolved of await collect(client.readAll())) {
      const event = resolved.event!;
      if (event.position!.commit <= before) faults.push(`position ${event.position!.commit} after ${before}`);
      before = event.position!.commit;
      const own = streams.get(event.streamId) ?? [];
      if (event.revision !== BigInt(own.length))
        faults.push(`${event.streamId}: revision ${event.revision} at place ${own.length}`);
      own.push(resolved);
      streams.set(event.streamId, own);
    }
    for (const { stream, revision, position, ids } of this.acked) {
      const first = Number(revision) - ids.length + 1;
      const there = (streams.get(stream) ?? []).slice(first, Number(revision) + 1).map(({ event }) => event!);
      if (there.map((event) => event.id).join() !== ids.join())
        faults.push(`${stream}@${revision} was acknowledged and is not there`);
      else if (there.at(-1)!.position!.commit !== position) faults.push(`${stream}@${revision} has moved`);
    }
    for (const [name, events] of streams) {
      const direct = await collect(client.readStream(name));
      if (direct.length !== events.length) faults.push(`${name}: ${direct.length} by stream, ${events.length} by $all`);
    }
    return faults;
  }
}
