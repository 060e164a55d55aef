import { atMost, type Clock, type Millis } from '../clock.ts';
import { Credit, type Funds } from '../data/account/credit.ts';
import { JournalFiles } from '../data/account/journal/files.ts';
import { GroupCommit } from '../data/account/journal/group-commit.ts';
import { Journal } from '../data/account/journal/journal.ts';
import { recover } from '../data/account/journal/recover.ts';
import { type Asked, Meter, mostOf } from '../data/account/meter.ts';
import type { Decision } from '../domain/policy/decision-events.ts';
import type { Price } from '../domain/usage/charge.ts';
import { settledIn } from '../domain/usage/usage-events.ts';
import { serial } from '../kernel/mailbox.ts';
import type { EventStore, Recorded } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import { shipment } from './shipment.ts';

/** The accounts of requests. */
export interface UsageBook {
  /** Why no request may be given to an upstream; undefined if it may. */
  readonly whyFull: string | undefined;
  /** Null without credit: 402 (contract M.1). The account is to be `opened` before the upstream is asked. */
  begin(asked: Asked): Meter | null;
  decide(decision: Decision): void;
}

export interface OpenUsage extends UsageBook {
  /** Older settlements are in the event store. */
  readonly ageMs: Millis;
  /** Micro-dollars: the log's balance less settlements that are not in it. */
  balanceOf(organizationId: string): number;
  /** Events that the balance includes from now on. */
  recorded(batch: readonly Recorded[]): void;
  /** In force from now on, and already in the log. Missing models keep their price. */
  priced(prices: readonly Price[]): void;
  /** Requests that end without an answer from now on were ended by this process (contract M.5). */
  cutting(): void;
  /** @throws Error with the number of ended requests that could not be written */
  close(): Promise<void>;
}

export interface UsageOptions {
  /** Of this log's journal; the count of its requests is beside it. */
  readonly dir: string;
  /** The gateway had a journal, and none is left. */
  readonly isGone?: boolean;
  readonly store: Pick<EventStore, 'append' | 'limitAge'>;
  readonly prices: readonly Price[];
  readonly funds: Funds;
  readonly clock: Clock;
  /** Between two shipments; default 1 s. */
  readonly everyMs?: Millis;
}

/** Bytes at which a file is closed while the store is unavailable. */
const longest = 512 * 1024;
/** Then 1 GiB, or two million requests, are waiting. */
const mostUnsent = 2_048;
/** Beyond it requests in flight are copied into the present file. */
const mostKept = 10;
/** For an unresponsive store at the start and end; the rest is sent later. */
const waitMs = 5_000;

/** All organizations together: an append for each was measured to cost a millisecond of the loop. */
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
  journal.write(left.abandoned.map((settlement) => ({ kind: 'settled', settlement })));
  const commit = new GroupCommit(journal);
  await journal.sync();
  if (left.abandoned.length > 0 || left.damaged > 0) {
    publish('usage.recovered', { abandoned: left.abandoned.length, damaged: left.damaged });
  }
  const { ship } = shipment(files, store, clock);
  const unsent = [...left.unsent.keys()];
  const kept = [...left.sent];
  /** Null while the store is available. */
  let away: string | null = null;
  let unrecorded = 0;
  let sentUpTo = clock.monotonic();
  let cutStatus = 499;
  const statusOfCut = () => cutStatus;

  /** Deleted in order: later files may settle its requests, which would be settled again without it. */
  const dropSent = async (): Promise<void> => {
    if (kept.length > mostKept) await journal.carry(kept.at(-1)!);
    // The settlements must be durable before the files are deleted.
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
        // A different error is logged too.
        const reason = String(error).replace(/\d+/g, '');
        if (away !== reason) publish('usage.unsent', { error });
        away = reason;
      },
    );
  // Balances must include the last run before the first request. While files wait, the present one stays open: its
  // settlements of abandoned requests go with the second send.
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
      if (whyFull() !== undefined) {
        unrecorded += 1;
        return;
      }
      void commit.decide(decision).then((isKept) => {
        if (!isKept) unrecorded += 1;
      });
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
      return new Meter({ asked, price, journal: commit, clock, credit, hold: hold ?? null, cutStatus: statusOfCut });
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
      commit.flush();
      tellUnrecorded();
      // An unavailable store gets it at the next start.
      await atMost(
        waitMs,
        inTurn(sendAll).catch(() => {}),
      );
      commit.flush();
      const unwritten = await journal.close();
      if (unwritten === 0) return;
      throw new Error(
        `The disk has not taken the ends of requests in ${dir}, ${unwritten} in all. They will be charged for their input, as it was estimated.`,
      );
    },
  };
};
