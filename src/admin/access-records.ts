import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Identity } from '../../projections/principal.ts';
import type { Clock, Millis } from '../clock.ts';
import { type AccessDenied, type CredentialsUsed, denialStream, useStream } from '../domain/access-facts.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Metadata, NewEvent } from '../kernel/store.ts';

/** Whose turn it is. */
export type Due = (organizationId: string) => boolean;

/** What the gate has gathered and nobody has recorded yet; taking it empties it. */
export interface Gathered {
  /** Unix seconds by credential, by organization. */
  takeUsed(due?: Due): ReadonlyMap<string, ReadonlyMap<string, number>>;
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

/** Credentials in one event, and refusals in one append: well below the store's bound of 1 MiB. */
const mostUses = 10_000;
const mostRefusals = 500;
/** Batches that wait for a store that is away: an hour of a few hundred organizations. The oldest go first. */
const mostWaiting = 10_000;
/** Appends under way at once. */
const lanes = 16;
/** Appends that begin at once where there is time: they share commits, and three milliseconds are not noticed. */
const together = 4;

const pieces = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));

const eventOf = (
  fact: CredentialsUsed | AccessDenied,
  metadata: Pick<Metadata, 'at' | 'actor' | 'ip' | 'request_id'>,
): NewEvent => {
  const { type, ...data } = fact;
  const id = randomUUID();
  return { id, type, data, metadata: { $correlationId: id, $causationId: id, v: 1, ...metadata } };
};

/**
 * Records the last uses of credentials, one event per organization, and refused attempts of known ones, one event per
 * minute, credential, route and code (architecture 4). A batch that could not be written is kept, as it is, for next time.
 */
export class AccessRecords {
  readonly #gathered: Gathered;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #pause: (ms: Millis) => Promise<unknown>;
  #waiting: Batch[] = [];
  #writing: Promise<void> = Promise.resolve();

  /** @param pause for tests; real timers by default */
  constructor(gathered: Gathered, journal: Journal, clock: Clock, pause: (ms: Millis) => Promise<unknown> = wait) {
    this.#gathered = gathered;
    this.#journal = journal;
    this.#clock = clock;
    this.#pause = pause;
  }

  /**
   * Writes what has been gathered; the present minute's refusals only when asked for everything, at the end.
   * @param due whose uses; by default everybody's
   * @param overMs the appends begin over this time, a few at a time: each takes the event loop and the store a millisecond
   * @throws the first failure, after everything has been tried
   */
  write(everything: boolean, due?: Due, overMs: Millis = 0): Promise<void> {
    const turn = this.#writing.then(() => this.#writeAll(everything, due, overMs));
    this.#writing = turn.catch(() => {});
    return turn;
  }

  async #writeAll(everything: boolean, due: Due | undefined, overMs: Millis): Promise<void> {
    const batches = [...this.#waiting, ...this.#uses(due), ...this.#denials(everything)];
    this.#waiting = [];
    const gapMs = overMs / batches.length;
    const began = this.#clock.monotonic();
    const queue = batches.entries();
    let failure: unknown;
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (const [i, batch] of queue) {
          const early = began + gapMs * (i - (i % together)) - this.#clock.monotonic();
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

  #uses(due?: Due): Batch[] {
    const at = this.#clock.wall();
    const metadata = { at, actor: { type: 'system', id: 'gate' } } as const;
    return [...this.#gathered.takeUsed(due)].flatMap(([organizationId, uses]) =>
      pieces([...uses], mostUses).map((piece) => ({
        stream: useStream(organizationId, at),
        events: [eventOf({ type: 'credential.used', used: Object.fromEntries(piece) }, metadata)],
      })),
    );
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
