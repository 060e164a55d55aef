import { atMost, type Clock, type Millis } from '../clock.ts';
import type { Decision } from '../domain/policy/decision-events.ts';
import type { Price } from '../domain/usage/charge.ts';
import { settledIn } from '../domain/usage/usage-events.ts';
import { serial } from '../kernel/mailbox.ts';
import type { EventStore, Recorded } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import { Credit, type Funds } from './credit.ts';
import { JournalFiles } from './journal/files.ts';
import { Journal } from './journal/journal.ts';
import { recover } from './journal/recover.ts';
import { type Asked, Meter, mostOf } from './meter.ts';
import { shipment } from './shipment.ts';

/** Keeps the accounts of requests. */
export interface UsageBook {
  /** Why nothing more can be written down, so that no request may be given to an upstream; undefined while it can. */
  readonly whyFull: string | undefined;
  /**
   * @returns null where the organization has not the credit that the model asks for: 402 (contract M.1), or where it cannot be
   * written down, which `whyFull` says then: 503 (contract M.5)
   */
  begin(asked: Asked): Meter | null;
  /** Keeps what a policy has decided; where there is no room, it is counted and told to the operator. */
  decide(decision: Decision): void;
}

export interface OpenUsage extends UsageBook {
  /** Everything that was settled so long ago is in the event store. */
  readonly ageMs: Millis;
  /** Micro-dollars: the balance, less what was settled here and is not in it yet. */
  balanceOf(organizationId: string): number;
  /** To be told of the events whose accounts the balance has from now on. */
  recorded(batch: readonly Recorded[]): void;
  /** Requests that begin from now on are charged by these; they are in the log. A model that is not among them keeps its price. */
  priced(prices: readonly Price[]): void;
  /** Requests that end from now on without an answer are ended by this process, and not by their clients (contract M.5). */
  cutting(): void;
  /** @throws Error which says how many requests have ended and could not be written down */
  close(): Promise<void>;
}

export interface UsageOptions {
  /** Folder of the journal of this log. Beside it stands how many requests it has to tell of. */
  readonly dir: string;
  /** The gateway has had a journal, and there is none of any log. */
  readonly isGone?: boolean;
  readonly store: Pick<EventStore, 'append' | 'limitAge'>;
  /** Of every model; they are in the log (`declarePrices`). */
  readonly prices: readonly Price[];
  readonly funds: Funds;
  readonly clock: Clock;
  /** Between two looks at what is to be sent; default 1 s. */
  readonly everyMs?: Millis;
}

/** A file that is waited for while the store is away is closed at so many bytes. */
const longest = 512 * 1024;
/** Files that wait for a store that is away: 1 GiB, two million requests. */
const mostUnsent = 2_048;
/** Files that are in the store and stay for requests in flight; beyond that what they are needed for is written once more. */
const mostKept = 10;
/** Longest wait, at the start and at the end, for a store that does not answer; the rest is sent later. */
const waitMs = 5_000;

/**
 * Opens the journal and sends what the last run has left, then sends to the event store what is settled, once a second: all
 * organizations together, since one append for each organization and second was measured to cost a millisecond of the loop.
 */
export const openUsage = async (options: UsageOptions): Promise<OpenUsage> => {
  const { dir, store, prices, funds, clock, everyMs = 1_000 } = options;
  const credit = new Credit(funds);
  const byModel = new Map<string, Price>();
  const priced = (now: readonly Price[]): void => {
    for (const price of now) byModel.set(price.model, price);
  };
  priced(prices);
  const files = new JournalFiles(dir);
  const left = await recover(files);
  const missing = options.isGone ? 'unknown' : left.missing;
  if (missing !== 0) publish('usage.missing', { requests: missing, dir });
  const journal = await Journal.open({
    files,
    first: Math.max(0, ...left.sent, ...left.unsent.keys()) + 1,
    unsent: left.unsent,
    unwritten: (error) => publish('usage.unwritten', { error }),
    written: () => publish('usage.written', {}),
  });
  for (const settlement of left.abandoned) journal.settle(settlement);
  await journal.sync();
  if (left.abandoned.length > 0 || left.damaged > 0) {
    publish('usage.recovered', { abandoned: left.abandoned.length, damaged: left.damaged });
  }
  const { ship } = shipment(files, store, clock);
  const unsent = [...left.unsent.keys()];
  /** In the store, and needed for requests that were in flight: the oldest first. */
  const kept = [...left.sent];
  /** Why nothing can be sent; null while it can. */
  let away: string | null = null;
  /** Decisions that were not kept. */
  let unrecorded = 0;
  let sentUpTo = clock.monotonic();
  /** Of requests that end without an answer (contract M.2). */
  let cutStatus = 499;

  /**
   * A file goes before those that came after it, which may have the settlements of what it saw begin: without them those would be
   * settled a second time at the next start.
   */
  const dropSent = async (): Promise<void> => {
    if (kept.length > mostKept) await journal.carry(kept.at(-1)!);
    // What settles their requests has to be on the disk before they go.
    if (kept.length > 0) await journal.sync();
    for (let [oldest] = kept; oldest !== undefined; [oldest] = kept) {
      if (!journal.isSound || journal.isNeeded(oldest)) return;
      await files.drop(oldest, 'sent');
      kept.shift();
    }
  };

  const sendAll = async (): Promise<void> => {
    const began = clock.monotonic();
    const closed = await journal.rotate(unsent.length === 0 ? 1 : longest);
    unsent.push(...closed.map(({ number }) => number));
    const atHand = new Map(closed.map(({ number, entries }) => [number, entries]));
    for (let next = unsent[0]; next !== undefined; next = unsent[0]) {
      const number = next;
      await ship(number, atHand.get(number), () => journal.shipped(number));
      kept.push(next);
      unsent.shift();
    }
    if (journal.isSound) sentUpTo = began;
    await dropSent();
  };
  const tellUnrecorded = (): void => {
    if (unrecorded > 0) publish('policies.unrecorded', { decisions: unrecorded });
    unrecorded = 0;
  };
  const inTurn = serial();
  const send = (): Promise<void> =>
    inTurn(sendAll).then(
      () => {
        if (away !== null) publish('usage.sent', {});
        away = null;
      },
      (error: unknown) => {
        // Another reason is told too: the store may be there again, and something else in the way.
        const reason = String(error).replace(/\d+/g, '');
        if (away !== reason) publish('usage.unsent', { error });
        away = reason;
      },
    );
  // What the last run has charged is no credit of its organizations any more when the first request comes.
  // While files wait the present one stays open: what it says of requests that were in flight goes the second time.
  if (left.unsent.size > 0 || left.abandoned.length > 0) await atMost(waitMs, send().then(send));
  let isSending = false;
  const timer = setInterval(() => {
    if (isSending) return;
    isSending = true;
    tellUnrecorded();
    void send().finally(() => {
      isSending = false;
    });
  }, everyMs);
  timer.unref();

  const whyFull = (): string | undefined => {
    if (journal.isShut) return 'there is no room for their accounts on the disk';
    return unsent.length >= mostUnsent ? 'too many accounts wait for the event store' : undefined;
  };

  return {
    get whyFull() {
      return whyFull();
    },
    decide(decision) {
      if (whyFull() !== undefined || !journal.decide(decision)) unrecorded += 1;
    },
    get ageMs() {
      return clock.monotonic() - sentUpTo;
    },
    begin(asked) {
      const price = byModel.get(asked.model);
      if (price === undefined) throw new Error(`The model ${asked.model} has no price.`);
      const { organizationId, estimatedTokens, maxTokens, images, searches } = asked;
      const hold = funds.needsCredit(asked.model)
        ? credit.hold(organizationId, mostOf(price, estimatedTokens, maxTokens, images, searches))
        : undefined;
      if (hold === null) return null;
      return Meter.begin({ asked, price, journal, clock, credit, hold: hold ?? null, cutStatus: () => cutStatus });
    },
    priced,
    balanceOf: (organizationId) => credit.balanceOf(organizationId),
    recorded(batch) {
      if (credit.pending === 0) return;
      for (const { type, data } of batch) if (type === 'usage.settled') credit.recorded(settledIn(data));
    },
    cutting() {
      cutStatus = 500;
    },
    async close() {
      clearInterval(timer);
      tellUnrecorded();
      // A store that is away gets it at the next start.
      await atMost(
        waitMs,
        inTurn(sendAll).catch(() => {}),
      );
      const unwritten = await journal.close();
      if (unwritten === 0) return;
      throw new Error(
        `The disk has not taken the ends of requests in ${dir}, ${unwritten} in all. They will be charged for their input, as it was estimated.`,
      );
    },
  };
};
