import { BACKWARDS, END } from '@eventstore/db-client';
import type { Clock, Millis } from '../clock.ts';
import { type HeadPoll, headPollMs, StoreRefuses } from '../kernel/store/store.ts';
import type { Contact } from './client/contact.ts';
import { finalError, saysWhy } from './client/errors.ts';
import { Abandoned, type Client, type Owner } from './client/owner.ts';
import { interruptible } from './client/retry-policy.ts';
import { asking } from './client/rights.ts';

/** The leader's answer may take so long (contract K.1). */
const timeoutMs: Millis = 1_000;
/** A client that has just been sent to the leader asks again at once; leaders that send it on and on are none. */
const maxMoves = 3;
/** Failures in a row after which the client may be what is wrong. */
const failuresOfClient = 2;
/** Between two failures, so that a refused connection is not tried in a circle. */
const soonestMs = 50;

export interface Probe {
  /** Something has failed: the next poll is made at once. */
  hurry(): void;
  close(): void;
}

class Silence extends Error {}

const isNotLeader = (error: unknown): boolean => (error as { type?: unknown }).type === 'not-leader';

/** Position of the newest event of all, the store's own included, as its leader says; 0 for an empty log. */
const endOfLog = async (client: Client): Promise<bigint> => {
  const newest = client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1, requiresLeader: true });
  let end = 0n;
  for await (const { event } of newest) end = event?.position?.commit ?? end;
  return end;
};

/**
 * Asks for the right to append, one question at a time.
 * @param silent told of a question that is not answered, as an append would not be
 */
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
      // A client that says so although it has just read says so for ever.
      if (isGivenUp(error)) owner.replace('its discovery was given up', true);
      const told = finalError(error, { tries: 1, wasAnswered: true, right });
      if (!(told instanceof StoreRefuses)) return;
      denied = told;
      // Not this append, but the call: the client may have asked for the server's features while it was, and remember that.
      if ('code' in (error as object)) owner.replace('it is refused what it may read', false);
    }
  };
  return {
    /** What the last answer was; undefined where it is allowed, or nothing is known. */
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

/** Counts failures in a row: the first silences may be this process's own, later failures are the client's. */
const failuresInARow = (owner: Owner, contact: Contact) => {
  let failures = 0;
  /** Silent polls in a row for which discovery had chosen a node from their beginning. */
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
      // One silence may be this process's own, on a machine that has much to do; the next poll follows at once.
      if (!isSilent || failures >= failuresOfClient) contact.missed(await contact.told(error));
      if (failures < failuresOfClient && !isGivenUp(error)) return;
      // Discovery believes what other nodes say of one that is frozen, and the client would stay there.
      const atOnce = wholeSilences >= failuresOfClient;
      if (atOnce) wholeSilences = 0;
      owner.replace(saysWhy(error), atOnce);
    },
  };
};

/**
 * Asks the leader for the end of the log, again and again, and whether it would take an append. That tells whether there is
 * a leader with a quorum behind it that takes commands of ours, where the log ends, and by that how old at most is what the
 * readers of this process know.
 */
export const probe = (options: {
  readonly owner: Owner;
  readonly contact: Contact;
  readonly clock: Clock;
  readonly seen: (head: HeadPoll) => void;
  /** The client was sent to another node, or was replaced: subscriptions belong there too. */
  readonly moved: () => void;
  /** A question about the right to append may take so long; who is told that one had no answer. */
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
        // Only of a store that is there: a client that asks it of one that is away may keep the failure in mind.
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
        // The client of this poll was replaced meanwhile: the next one is asked.
        if (error instanceof Abandoned) continue;
        if (!isNotLeader(error) || moves >= maxMoves) return failures.add(error, hadChosen);
        // By this error the client has gone over to the leader that it names; it does so in the next turns of the loop.
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

/** Discovery has been given up; the client keeps that in mind. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof Error && /^Failed to discover after/.test(error.message);
