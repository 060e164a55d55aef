import { atMost, type Clock, type Millis } from '../clock.ts';
import { claim, isLack, type Lack } from '../data/account/claim.ts';
import { Credit, type Funds } from '../data/account/credit.ts';
import { JournalFiles } from '../data/account/journal/files.ts';
import { GroupCommit } from '../data/account/journal/group-commit.ts';
import { Journal } from '../data/account/journal/journal.ts';
import { recover } from '../data/account/journal/recover.ts';
import { Meter, type Opening } from '../data/account/meter.ts';
import { noSpendLimits, type SpendSource } from '../data/account/spend-limits.ts';
import type { Decision } from '../domain/policy/decision-events.ts';
import type { Price } from '../domain/usage/charge.ts';
import type { SpendLimit } from '../domain/usage/spend-limit.ts';
import { settledIn } from '../domain/usage/usage-events.ts';
import type { EventStore, Recorded } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import { Sending } from './sending.ts';

/** The accounts of requests. */
export interface UsageBook {
  /** Why no request may be given to an upstream; undefined if it may. */
  readonly whyFull: string | undefined;
  /** Not if it may cost more than what is left: 402 (contract M.1, M.8). The account is to be `opened` before the upstream is asked. */
  begin(asked: Opening): Meter | Lack;
  decide(decision: Decision): void;
}

export interface OpenUsage extends UsageBook {
  /** Older settlements are in the event store. */
  readonly ageMs: Millis;
  /** Micro-dollars: the log's balance less settlements that are not in it. */
  balanceOf(organizationId: string): number;
  /** Micro-dollars that this gateway counts beside the log within the limit of an organization, a project or a line of keys. */
  unrecordedOf(id: string, interval: SpendLimit['interval']): number;
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
  /** Default none. */
  readonly spend?: SpendSource;
  /** That share the spend limits; default 1. */
  readonly gateways?: number;
  readonly clock: Clock;
  /** Between two shipments; default 1 s. */
  readonly everyMs?: Millis;
}

/** For an unresponsive store at the start and end; the rest is sent later. */
const waitMs = 5_000;

/** The journal of this run, with what earlier ones have left. */
const openJournal = async (files: JournalFiles, { dir, isGone }: UsageOptions) => {
  const left = await recover(files);
  const missing = isGone ? 'unknown' : left.missing;
  if (missing !== 0) publish('usage.missing', { requests: missing, dir });
  const journal = await Journal.open({
    files,
    first: Math.max(0, ...left.sent, ...left.unsent.keys()) + 1,
    unsent: left.unsent,
    unwritten: (error) => publish('usage.unwritten', { error }),
    written: () => publish('usage.written', {}),
  });
  journal.write(left.abandoned.map((settlement) => ({ kind: 'settled', settlement })));
  await journal.sync();
  if (left.abandoned.length > 0 || left.damaged > 0) {
    publish('usage.recovered', { abandoned: left.abandoned.length, damaged: left.damaged });
  }
  return { journal, left };
};

/** All organizations together: an append for each was measured to cost a millisecond of the loop. */
export const openUsage = async (options: UsageOptions): Promise<OpenUsage> => {
  const { dir, store, prices, funds, spend = noSpendLimits, gateways = 1, clock, everyMs = 1_000 } = options;
  const files = new JournalFiles(dir);
  const { journal, left } = await openJournal(files, options);
  const sending = new Sending({ journal, files, store, clock, unsent: [...left.unsent.keys()], sent: left.sent });
  // Balances must include the last run before the first request. While files wait, the present one stays open: its
  // settlements of abandoned requests go with the second send.
  if (left.unsent.size > 0 || left.abandoned.length > 0)
    await atMost(
      waitMs,
      sending.send().then(() => sending.send()),
    );
  return new Usage({ dir, journal, sending, prices, funds, spend, gateways, clock, everyMs });
};

interface Parts
  extends Required<Pick<UsageOptions, 'dir' | 'prices' | 'funds' | 'spend' | 'gateways' | 'clock' | 'everyMs'>> {
  readonly journal: Journal;
  readonly sending: Sending;
}

class Usage implements OpenUsage {
  readonly #parts: Parts;
  readonly #credit: Credit;
  readonly #commit: GroupCommit;
  readonly #byModel = new Map<string, Price>();
  readonly #timer: NodeJS.Timeout;
  #isSending = false;
  #unrecorded = 0;
  #cutStatus = 499;
  readonly #statusOfCut = () => this.#cutStatus;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#credit = new Credit(parts.funds, parts.gateways);
    this.#commit = new GroupCommit(parts.journal);
    this.priced(parts.prices);
    this.#timer = setInterval(() => this.#tick(), parts.everyMs);
    this.#timer.unref();
  }

  get whyFull(): string | undefined {
    const { journal, sending } = this.#parts;
    if (journal.isShut) return 'there is no room for their accounts on the disk';
    return sending.isFull ? 'too many accounts wait for the event store' : undefined;
  }

  get ageMs(): Millis {
    return this.#parts.sending.ageMs;
  }

  decide(decision: Decision): void {
    if (this.whyFull !== undefined) {
      this.#unrecorded += 1;
      return;
    }
    void this.#commit.decide(decision).then((isKept) => {
      if (!isKept) this.#unrecorded += 1;
    });
  }

  begin(asked: Opening): Meter | Lack {
    const price = this.#byModel.get(asked.model);
    if (price === undefined) throw new Error(`The model ${asked.model} has no price.`);
    const { model, organizationId, projectId, line } = asked;
    const { funds, spend, clock } = this.#parts;
    const credit = this.#credit;
    const limits = spend.limitsOf(line, projectId, organizationId);
    const bounds = funds.needsCredit(model) ? [organizationId, ...limits] : limits;
    const claimed = claim(credit, bounds, price, asked, clock.wall());
    if (isLack(claimed)) return claimed;
    const { hold, maximum } = claimed;
    return new Meter({
      asked,
      price,
      journal: this.#commit,
      clock,
      credit,
      hold,
      maximum,
      cutStatus: this.#statusOfCut,
    });
  }

  priced(prices: readonly Price[]): void {
    for (const price of prices) this.#byModel.set(price.model, price);
  }

  balanceOf(organizationId: string): number {
    return this.#credit.balanceOf(organizationId);
  }

  unrecordedOf(id: string, interval: SpendLimit['interval']): number {
    return this.#credit.unrecordedOf(id, interval, this.#parts.clock.wall());
  }

  recorded(batch: readonly Recorded[]): void {
    if (this.#credit.pending === 0) return;
    for (const { type, data } of batch) if (type === 'usage.settled') this.#credit.recorded(settledIn(data));
  }

  cutting(): void {
    this.#cutStatus = 500;
  }

  async close(): Promise<void> {
    const { dir, journal, sending } = this.#parts;
    clearInterval(this.#timer);
    this.#commit.flush();
    this.#tellUnrecorded();
    // An unavailable store gets it at the next start.
    await atMost(
      waitMs,
      sending.sendAll().catch(() => {}),
    );
    this.#commit.flush();
    const unwritten = await journal.close();
    if (unwritten === 0) return;
    throw new Error(
      `The disk has not taken the ends of requests in ${dir}, ${unwritten} in all. They will be charged for their input, as it was estimated.`,
    );
  }

  #tick(): void {
    this.#credit.secondOver();
    if (this.#isSending) return;
    this.#isSending = true;
    this.#tellUnrecorded();
    void this.#parts.sending.send().finally(() => {
      this.#isSending = false;
    });
  }

  #tellUnrecorded(): void {
    if (this.#unrecorded > 0) publish('policies.unrecorded', { decisions: this.#unrecorded });
    this.#unrecorded = 0;
  }
}
