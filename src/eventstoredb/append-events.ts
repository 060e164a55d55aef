import { type JSONType, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import type { Millis } from '../clock.ts';
import type { Appended, CallOptions, Expected, NewEvent } from '../kernel/store/store.ts';
import type { NewAttempts } from './client/attempt.ts';
import type { Contact } from './client/contact.ts';
import { neverTooLarge } from './client/errors.ts';
import type { Owner } from './client/owner.ts';

/** Unanswered appends in a row after which the client is replaced. */
const maxUnanswered = 2;

interface Parts {
  readonly owner: Owner;
  readonly contact: Contact;
  readonly newAttempts: NewAttempts;
  /** Time limit of one attempt outside a budget. */
  readonly callMs: Millis;
  /** Called with the position of each append. */
  readonly appended: (position: bigint) => void;
}

export class Appends {
  readonly #parts: Parts;
  readonly #pending = new Set<Promise<unknown>>();
  #unanswered = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  append(stream: string, events: readonly NewEvent[], expected: Expected, more?: CallOptions): Promise<Appended> {
    const run = this.#repeat(stream, events, expected, more);
    const settled: Promise<unknown> = run.catch(() => {}).then(() => this.#pending.delete(settled));
    this.#pending.add(settled);
    return run;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }

  /** The client has one stream for all appends, which never recovers from a stall. */
  unanswered(ms: Millis): void {
    const { owner, contact, callMs } = this.#parts;
    if (ms !== callMs || !(contact.state.is === 'there' || contact.lost?.refuses)) return;
    if (++this.#unanswered >= maxUnanswered) owner.replace('its appends have no answer', false);
  }

  async #repeat(
    stream: string,
    events: readonly NewEvent[],
    expected: Expected,
    more?: CallOptions,
  ): Promise<Appended> {
    const { owner, newAttempts, appended } = this.#parts;
    const isLarge = () => JSON.stringify(batch).length >= neverTooLarge;
    const attempts = newAttempts({ stream, expected, isLarge, right: 'append to streams' }, more);
    // The store reports it as a success without a position.
    if (events.length === 0) throw new TypeError(`an append of no events to ${stream}`);
    const batch = events.map(({ id, type, data, metadata }) =>
      jsonEvent({ id, type, data: data as JSONType, metadata: metadata as unknown as JSONType }),
    );
    const expectedRevision = expected === 'no_stream' ? NO_STREAM : BigInt(expected);
    for (;;) {
      try {
        const ms = attempts.callMs;
        const late = () => {
          this.unanswered(ms);
          return new Error(`no answer to an append to ${stream} within ${Math.round(ms)} ms`);
        };
        const { nextExpectedRevision, position } = await owner.attempt(
          (client) => client.appendToStream(stream, batch, { expectedRevision }),
          ms,
          late,
        );
        this.#unanswered = 0;
        if (!position) throw new Error(`an append to ${stream} was answered without a position`);
        attempts.progress();
        appended(position.commit);
        return { revision: Number(nextExpectedRevision), position: position.commit };
      } catch (error) {
        await attempts.failed(error);
      }
    }
  }
}
