import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Identity } from '../../access/principal.ts';
import type { Clock, Millis } from '../../clock.ts';
import { type AccessDenied, type CredentialsUsed, denialStream, useStream } from '../../domain/key/access-events.ts';
import type { SharedStreamWriter } from '../../kernel/commands/shared-stream-writer.ts';
import type { Metadata, NewEvent } from '../../kernel/store/store.ts';

/** What the gate has gathered and nobody has recorded yet; taking it empties it. */
export interface Gathered {
  /** Unix seconds by credential, of those whose turn is one of `now`, or of all. */
  takeUsed(now?: readonly number[]): ReadonlyMap<string, number>;
  /** Refusals, one entry per minute, credential, route and code: of the minutes that are over, or all. */
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

/** Credentials in one event: few enough that nobody waits for their read model; at the end, when nobody is served, many. */
const mostUses = 250;
const mostLastUses = 10_000;
/** Refusals in one append. This and the above are well below the store's bound of 1 MiB. */
const mostRefusals = 500;
/** Batches that wait for a store that is away: nearly three hours of one a second. The oldest go first. */
const mostWaiting = 10_000;
/** Appends under way at once. */
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

/**
 * Records the last uses of credentials, many in one event, and refused attempts of known ones, one event per minute,
 * credential, route and code (architecture 4). A batch that could not be written is kept, as it is, for next time.
 */
export class AccessRecords {
  readonly #gathered: Gathered;
  readonly #journal: SharedStreamWriter;
  readonly #clock: Clock;
  readonly #pause: (ms: Millis) => Promise<unknown>;
  #waiting: Batch[] = [];
  #writing: Promise<void> = Promise.resolve();

  /** @param pause for tests; real timers by default */
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
   * Writes what has been gathered; the present minute's refusals only when asked for everything, at the end.
   * @param now the turns whose uses are written; by default all
   * @param overMs the appends begin over this time: each takes the event loop and the store some milliseconds
   * @throws the first failure, after everything has been tried
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

/** Who was refused is the actor; address and request are those of the last attempt. */
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
