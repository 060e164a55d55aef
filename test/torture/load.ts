import { randomUUID } from 'node:crypto';
import { binaryEvent, type EventData, type EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import type { History, Operation, Sent } from './oracle.ts';
import type { Random } from './random.ts';
import { digest } from './read-back.ts';

/** An event of some size and one of the two forms. */
function anyEvent(random: Random, large: number): EventData & { readonly hash: string } {
  const size = random.next() < large ? random.between(5_000, 60_000) : random.between(0, 400);
  const text = random.between(0, 1e9).toString(36).repeat(20);
  const fill = text.repeat(Math.ceil(size / text.length)).slice(0, size);
  const id = randomUUID();
  if (random.next() < 0.2) {
    const data = Uint8Array.from(Buffer.from(fill, 'latin1'));
    return { ...binaryEvent({ id, type: 'raw', data }), hash: digest('raw', data, null) };
  }
  const data = { fill, n: random.between(0, 1e9) };
  const metadata = random.next() < 0.5 ? { who: random.between(0, 9) } : undefined;
  const event = metadata ? jsonEvent({ id, type: 'plain', data, metadata }) : jsonEvent({ id, type: 'plain', data });
  return { ...event, hash: digest('plain', data, metadata) };
}

const DEADLINE_MS = 10_000;

/** One writer on one stream; a shared one is written by others as well. */
interface Writer {
  readonly stream: string;
  readonly shared: boolean;
  next: bigint | 'no_stream' | 'unknown';
  /** What had no answer, to be repeated with the same ids at the same revision. */
  open: { readonly operation: Operation; readonly events: EventData[] } | undefined;
}

export interface Writing {
  /** Resolves with so many acknowledged, or with false because the server was gone before. */
  reached(acknowledged: number): Promise<boolean>;
  /** Every writer has ended. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Writers that go on from server to server, each remembering what it was told. */
export class Load {
  readonly history: History;
  private readonly random: Random;
  private readonly large: number;
  private readonly writers: Writer[];
  /** Milliseconds by which the server's clock is ahead: the client sends its deadlines as wall time. */
  clockOffset = 0;

  /** @param large share of large events */
  constructor(history: History, random: Random, run: string, writers = 16, large = 0.05) {
    this.history = history;
    this.random = random;
    this.large = large;
    // A quarter of the writers fight over one stream.
    this.writers = Array.from({ length: writers }, (_, i) => {
      const shared = i % 4 === 3;
      return {
        stream: shared ? `torture-${run}_shared` : `torture-${run}_${i}`,
        shared,
        next: 'no_stream',
        open: undefined,
      };
    });
  }

  /** Writes until `enough` or until the server is gone. */
  async run(client: EventStoreDBClient, enough: () => boolean): Promise<void> {
    await Promise.all(this.writers.map((writer) => this.write(client, writer, enough)));
  }

  /** Starts writing, until the server is gone, it is stopped, or `most` in all are acknowledged. */
  begin(client: EventStoreDBClient, most = Number.POSITIVE_INFINITY): Writing {
    let isOver = false;
    let isEnough = false;
    const ended = this.run(client, () => isEnough || this.history.acknowledged >= most).then(() => {
      isOver = true;
    });
    return {
      ended,
      stop() {
        isEnough = true;
        return ended;
      },
      reached: async (acknowledged) => {
        while (this.history.acknowledged < acknowledged && !isOver)
          await new Promise((resolve) => setTimeout(resolve, 1));
        return !isOver;
      },
    };
  }

  private async write(client: EventStoreDBClient, writer: Writer, enough: () => boolean): Promise<void> {
    while (!enough()) {
      try {
        if (writer.open !== undefined && this.random.next() < 0.5) await this.append(client, writer, writer.open);
        else {
          if (writer.next === 'unknown') await this.look(client, writer);
          writer.open = undefined;
          const events = Array.from({ length: this.random.between(1, 4) }, () => anyEvent(this.random, this.large));
          const sent: Sent[] = events.map(({ id, hash }) => ({ id, hash }));
          const operation = this.history.ask(writer.stream, writer.next as bigint | 'no_stream', sent);
          await this.append(client, writer, { operation, events });
        }
      } catch (error) {
        // A deadline that has passed leaves the outcome open, as a lost connection does; the server is still there.
        if ((error as { type?: string }).type !== 'deadline-exceeded') return;
      }
    }
  }

  private async append(client: EventStoreDBClient, writer: Writer, asked: NonNullable<Writer['open']>): Promise<void> {
    const { operation, events } = asked;
    writer.open = asked;
    // Whatever happens before the answer, what there is now is not known.
    writer.next = 'unknown';
    try {
      const answer = await client.appendToStream(operation.stream, events, {
        expectedRevision: operation.expected,
        deadline: DEADLINE_MS + this.clockOffset,
      });
      this.history.ok(operation, answer.nextExpectedRevision, answer.position!.commit);
      writer.next = answer.nextExpectedRevision;
      writer.open = undefined;
    } catch (error) {
      const { type, actualVersion } = error as { type?: string; actualVersion?: bigint | 'no_stream' };
      if (type !== 'wrong-expected-version') throw error;
      this.history.fail(operation);
      writer.open = undefined;
      writer.next = actualVersion ?? 'unknown';
      if (!writer.shared)
        this.history.unexpected.push(`${writer.stream}: nobody else writes, and ${operation.expected} was refused`);
    }
  }

  private async look(client: EventStoreDBClient, writer: Writer): Promise<void> {
    writer.next = 'no_stream';
    try {
      const options = { direction: 'backwards', fromRevision: 'end', maxCount: 1 } as const;
      for await (const { event } of client.readStream(writer.stream, options)) writer.next = event!.revision;
    } catch (error) {
      if ((error as { type?: string }).type === 'stream-not-found') return;
      writer.next = 'unknown';
      throw error;
    }
  }
}
