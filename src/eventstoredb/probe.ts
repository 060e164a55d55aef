import { BACKWARDS, END } from '@eventstore/db-client';
import type { Clock, Millis } from '../clock.ts';
import { type HeadPoll, headPollMs, StoreRefuses } from '../kernel/store/store.ts';
import type { Contact } from './client/contact.ts';
import { finalError, saysWhy } from './client/errors.ts';
import { Abandoned, type Client, type Owner } from './client/owner.ts';
import { interruptible } from './client/retry-policy.ts';
import { asking } from './client/rights.ts';

/** Time limit for the leader's answer (contract K.1). */
const timeoutMs: Millis = 1_000;
/** Redirections to other leaders in one poll. */
const maxMoves = 3;
const failuresOfClient = 2;
/** Least time between failures, so that a refused connection is not tried in a loop. */
const soonestMs = 50;

export interface Probe {
  hurry(): void;
  close(): void;
}

class Silence extends Error {}

const isNotLeader = (error: unknown): boolean => (error as { type?: unknown }).type === 'not-leader';

/** Position of the newest event, the store's own included, from the leader; 0 for an empty log. */
const endOfLog = async (client: Client): Promise<bigint> => {
  const newest = client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1, requiresLeader: true });
  let end = 0n;
  for await (const { event } of newest) end = event?.position?.commit ?? end;
  return end;
};

/** Tests the right to append, one question at a time. @param silent called when a question is not answered */
const rightToAppend = (owner: Owner, ms: Millis, silent: () => void) => {
  const right = 'append to streams';
  let denied: StoreRefuses | undefined;
  let asked: Promise<void> | undefined;
  const ask = async (): Promise<void> => {
    try {
      await owner.attempt(
        asking[right],
        ms,
        () => new Silence(`no answer about the right to ${right} within ${ms} ms`),
      );
      denied = undefined;
    } catch (error) {
      if (error instanceof Silence) silent();
      // Such a client never recovers, although it has just read.
      if (isGivenUp(error)) owner.replace('its discovery was given up', true);
      const told = finalError(error, { tries: 1, wasAnswered: true, right });
      if (!(told instanceof StoreRefuses)) return;
      denied = told;
      // The client may remember a refusal while it asked for the server's features.
      if ('code' in (error as object)) owner.replace('it is refused what it may read', false);
    }
  };
  return {
    /** The last refusal; undefined where appends are allowed or nothing is known. */
    get denied() {
      return denied;
    },
    ask(): Promise<void> {
      asked ??= ask().finally(() => {
        asked = undefined;
      });
      return asked;
    },
  };
};

const failuresInARow = (owner: Owner, contact: Contact) => {
  let failures = 0;
  /** Silent polls in a row with a chosen node. */
  let wholeSilences = 0;
  return {
    end(): void {
      failures = 0;
      wholeSilences = 0;
    },
    async add(error: unknown, hadChosen: boolean): Promise<void> {
      failures++;
      const isSilent = error instanceof Silence;
      wholeSilences = isSilent && hadChosen ? wholeSilences + 1 : 0;
      // The first silence may be caused by load on this machine; the next poll follows at once.
      if (!isSilent || failures >= failuresOfClient) contact.missed(await contact.told(error));
      if (failures < failuresOfClient && !isGivenUp(error)) return;
      // Other nodes may still report a frozen one as alive, and the client would stay there.
      const atOnce = wholeSilences >= failuresOfClient;
      if (atOnce) wholeSilences = 0;
      owner.replace(saysWhy(error), atOnce);
    },
  };
};

/** Polls the leader for the end of the log and tests the right to append: whether commands are taken, and how fresh reads are. */
export const probe = (options: {
  readonly owner: Owner;
  readonly contact: Contact;
  readonly clock: Clock;
  readonly seen: (head: HeadPoll) => void;
  /** The client uses another node; subscriptions should, too. */
  readonly moved: () => void;
  /** Time limit for the test of the right to append; `unanswered` is called after it. */
  readonly appendMs: Millis;
  readonly unanswered: () => void;
}): Probe => {
  const { owner, contact, clock, seen, moved } = options;
  const wait = interruptible(soonestMs);
  const right = rightToAppend(owner, options.appendMs, options.unanswered);
  let hasAsked = false;
  let closed = false;
  const failures = failuresInARow(owner, contact);

  const poll = async (): Promise<void> => {
    let hasMoved = false;
    for (let moves = 0; ; moves++) {
      const hadChosen = await owner.hasChosen();
      const askedAt = clock.monotonic();
      try {
        const late = () => new Silence(`no answer from the leader within ${timeoutMs} ms`);
        const end = await owner.attempt(endOfLog, timeoutMs, late);
        failures.end();
        // Only when the store is there, because the client remembers some failures.
        const answer = right.ask();
        if (!hasAsked) await answer;
        if (closed) return;
        hasAsked = true;
        if (right.denied === undefined) contact.found(hasMoved);
        else {
          contact.answered();
          contact.missed(right.denied);
        }
        if (hasMoved) moved();
        seen({ askedAt, end });
        return;
      } catch (error) {
        if (closed) return;
        // The client was replaced; the next one is polled.
        if (error instanceof Abandoned) continue;
        if (!isNotLeader(error) || moves >= maxMoves) return failures.add(error, hadChosen);
        // The client switches to the named leader in the next turns of the loop.
        hasMoved = true;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  };

  const run = async (): Promise<void> => {
    while (!closed) {
      const began = clock.monotonic();
      await poll();
      if (closed) return;
      await wait.wait(Math.max(soonestMs, headPollMs - (clock.monotonic() - began)));
    }
  };
  void run();

  return {
    hurry: wait.hurry,
    close() {
      closed = true;
      wait.end();
    },
  };
};

/** Discovery has failed, which the client remembers. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof Error && /^Failed to discover after/.test(error.message);
