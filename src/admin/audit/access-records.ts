import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Millis } from '../../clock.ts';
import type { Identity } from '../../data/access/principal.ts';
import { type AccessDenied, type CredentialsUsed, denialStream, useStream } from '../../domain/key/access-events.ts';
import type { SharedStreamWriter } from '../../kernel/commands/shared-stream-writer.ts';
import type { Metadata, NewEvent } from '../../kernel/store/store.ts';

/** The gate's unrecorded uses and refusals; taking them removes them. */
export interface Gathered {
  /** Unix seconds of the last use by credential: of the credentials in the slots `now`, or of all. */
  takeUsed(now?: readonly number[]): ReadonlyMap<string, number>;
  /** Refusals, one entry per minute, credential, route and code: of past minutes, or all. */
  takeDenied(everything: boolean): readonly Refusals[];
}

interface Refusals {
  readonly who: Identity;
  readonly route: string;
  readonly code: string;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly ip: string;
  readonly requestId: string;
}

interface Batch {
  readonly stream: string;
  readonly events: readonly NewEvent[];
}

/** Credentials in one event: few, because their projection is waited for, and many at the shutdown. */
const mostUses = 250;
const mostLastUses = 10_000;
/** Refusals in one append. Both stay well below the store's limit of 1 MiB. */
const mostRefusals = 500;
/** Batches kept while the store is down: nearly three hours of one a second. The oldest are dropped first. */
const mostWaiting = 10_000;
const lanes = 16;

const pieces = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));

const eventOf = (
  event: CredentialsUsed | AccessDenied,
  metadata: Pick<Metadata, 'at' | 'actor' | 'ip' | 'request_id'>,
): NewEvent => {
  const { type, ...data } = event;
  const id = randomUUID();
  return { id, type, data, metadata: { $correlationId: id, $causationId: id, v: 1, ...metadata } };
};

/** Records last uses and refusals of known credentials. Failed batches are kept and retried. */
export class AccessRecords {
  readonly #gathered: Gathered;
  readonly #journal: SharedStreamWriter;
  readonly #clock: Clock;
  readonly #pause: (ms: Millis) => Promise<unknown>;
  #waiting: Batch[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(
    gathered: Gathered,
    journal: SharedStreamWriter,
    clock: Clock,
    pause: (ms: Millis) => Promise<unknown> = wait,
  ) {
    this.#gathered = gathered;
    this.#journal = journal;
    this.#clock = clock;
    this.#pause = pause;
  }

  /**
   * @param everything includes the refusals of the present minute, for the shutdown
   * @param now the slots whose uses are written; all by default
   * @param overMs spreads the appends over this time, since each blocks the event loop and the store for some milliseconds
   * @throws the first failure, after every append was tried
   */
  write(everything: boolean, now?: readonly number[], overMs: Millis = 0): Promise<void> {
    const turn = this.#writing.then(() => this.#writeAll(everything, now, overMs));
    this.#writing = turn.catch(() => {});
    return turn;
  }

  async #writeAll(everything: boolean, now: readonly number[] | undefined, overMs: Millis): Promise<void> {
    const batches = [
      ...this.#waiting,
      ...this.#uses(now, everything ? mostLastUses : mostUses),
      ...this.#denials(everything),
    ];
    this.#waiting = [];
    const gapMs = overMs / batches.length;
    const began = this.#clock.monotonic();
    const queue = batches.entries();
    let failure: unknown;
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (const [i, batch] of queue) {
          const early = began + gapMs * i - this.#clock.monotonic();
          if (early > 0) await this.#pause(early);
          try {
            await this.#journal.append(batch.stream, batch.events);
          } catch (error) {
            failure ??= error;
            this.#waiting.push(batch);
          }
        }
      }),
    );
    this.#waiting.splice(0, this.#waiting.length - mostWaiting);
    if (failure !== undefined) throw failure;
  }

  #uses(now: readonly number[] | undefined, most: number): Batch[] {
    const at = this.#clock.wall();
    const metadata = { at, actor: { type: 'system', id: 'gate' } } as const;
    return pieces([...this.#gathered.takeUsed(now)], most).map((piece) => ({
      stream: useStream(at),
      events: [eventOf({ type: 'credential.used', used: Object.fromEntries(piece) }, metadata)],
    }));
  }

  #denials(everything: boolean): Batch[] {
    const byStream = new Map<string, NewEvent[]>();
    for (const refusals of this.#gathered.takeDenied(everything)) {
      const stream = denialStream(refusals.who.organizationId, refusals.lastAt);
      const events = byStream.get(stream) ?? [];
      byStream.set(stream, events);
      events.push(denied(refusals));
    }
    return [...byStream].flatMap(([stream, events]) =>
      pieces(events, mostRefusals).map((piece) => ({ stream, events: piece })),
    );
  }
}

/** The actor is the refused credential; address and request are those of the last attempt. */
const denied = ({ who, route, code, count, firstAt, lastAt, ip, requestId }: Refusals): NewEvent =>
  eventOf(
    {
      type: 'access.denied',
      credential_id: who.id,
      credential_type: who.kind,
      ...(who.projectId && { project_id: who.projectId }),
      route,
      code,
      count,
      first_at: firstAt,
      last_at: lastAt,
    },
    {
      at: lastAt,
      actor: { type: who.kind === 'oauth_client' ? 'oauth_client' : 'api_key', id: who.id },
      ip,
      request_id: requestId,
    },
  );
