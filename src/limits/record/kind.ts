import { concurrentRequests, requestsPerDay, requestsPerMinute, tokensPerDay, tokensPerMinute } from './metrics.ts';
import { logHeadWords, RequestLog } from './request-log.ts';
import { Ring, ringHeadWords } from './ring.ts';
import type { Slab } from './slab.ts';
import { secondMs, tenMinutesMs } from './time.ts';
import { checkLimits, type FamilyLimits, type WindowLimits } from './window-limits.ts';

/** Full buckets that count besides the running one. */
const secondsOfMinute = 60;
const tenMinutesOfDay = 144;

/** A bucket stops counting here; see `mostPossible`. */
const mostRequestsNarrow = 0xffff;
const mostRequestsWide = 0x7f_ffff;
export const mostTokens = 0x7fff_ffff;

/** Words that every record begins with: the log's head, in whose last half the requests in flight are, and three more. */
export const headerWords = logHeadWords + 3;

/** One row of a table of tiers as it is in force, with a kind of record for each scope. */
export interface Plan {
  readonly tier: number;
  readonly limits: FamilyLimits;
  readonly kinds: readonly Kind[];
}

/**
 * What all records of one scope and one plan have in common: their limits, and where their windows lie. Heads come before
 * cells, and what a request reads first before what it reads last:
 *
 * ```
 * header | head of tokens a minute | of requests a day | of tokens a day | their cells in this order | log: rpm × u16
 * ```
 */
export class Kind {
  readonly slab: Slab;
  readonly plan: Plan;
  readonly scope: number;
  /** By metric; 0 is none. */
  readonly limits: Float64Array;
  readonly log: RequestLog;
  readonly minuteTokens: Ring | null;
  readonly dayRequests: Ring | null;
  readonly dayTokens: Ring | null;
  /** Length of a record in units of the slab. */
  readonly units: number;

  constructor(slab: Slab, plan: Plan, scope: number, limits: WindowLimits) {
    this.slab = slab;
    this.plan = plan;
    this.scope = scope;
    const { rpm, rpd, tpm, tpd, concurrent } = limits;
    // Of one form for all kinds: a plain array has another where a limit needs more than 31 bits.
    const byMetric = new Float64Array(5);
    byMetric[requestsPerMinute] = rpm;
    byMetric[requestsPerDay] = rpd ?? 0;
    byMetric[concurrentRequests] = concurrent ?? 0;
    byMetric[tokensPerMinute] = tpm ?? 0;
    byMetric[tokensPerDay] = tpd ?? 0;
    this.limits = byMetric;

    const heads = [tpm, rpd, tpd].filter((limit) => limit !== null).length;
    let head = headerWords;
    let cells = headerWords + heads * ringHeadWords;
    const ring = (limit: number | null, length: number, tickMs: number, most: number): Ring | null => {
      if (limit === null) return null;
      const narrow = most === mostRequestsNarrow;
      const made = new Ring({ head, cells: narrow ? cells * 2 : cells, narrow }, length, tickMs, most);
      head += ringHeadWords;
      cells += narrow ? length / 2 : length;
      return made;
    };
    this.minuteTokens = ring(tpm, secondsOfMinute, secondMs, mostTokens);
    const mostRequests = rpd !== null && rpd > mostRequestsNarrow ? mostRequestsWide : mostRequestsNarrow;
    this.dayRequests = ring(rpd, tenMinutesOfDay, tenMinutesMs, mostRequests);
    this.dayTokens = ring(tpd, tenMinutesOfDay, tenMinutesMs, mostTokens);
    this.log = new RequestLog(0, cells, rpm);
    this.units = this.log.units;
  }

  /** The ring that a metric is counted in; null where there is no such limit, and for those that have no ring. */
  ring(metric: number): Ring | null {
    if (metric === tokensPerMinute) return this.minuteTokens;
    if (metric === requestsPerDay) return this.dayRequests;
    return metric === tokensPerDay ? this.dayTokens : null;
  }
}

const same = (a: FamilyLimits, b: FamilyLimits): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The plans in force, by tier. A record keeps the plan that it was made with until it is used again. */
export class Plans {
  #current: readonly Plan[] = [];
  readonly #slab: Slab;
  readonly #scopes: number;

  constructor(slab: Slab, scopes: number, limits: readonly FamilyLimits[]) {
    this.#slab = slab;
    this.#scopes = scopes;
    this.replace(limits);
  }

  /** How many there are. */
  get tiers(): number {
    return this.#current.length;
  }

  /** The plan of a tier. @throws RangeError for a tier that has none */
  of(tier: number): Plan {
    const plan = this.#current[tier];
    if (plan === undefined) throw new RangeError(`There are no limits for tier ${tier}.`);
    return plan;
  }

  /**
   * Puts other limits into force, for as many tiers as before.
   * @throws RangeError where one does not fit a record, before anything is changed
   */
  replace(limits: readonly FamilyLimits[]): void {
    if (this.tiers > 0 && limits.length !== this.tiers) {
      throw new RangeError(`There are ${this.tiers} tiers, not ${limits.length}.`);
    }
    if (limits.some((family) => family.length !== this.#scopes)) {
      throw new RangeError('Every plan has limits for every scope.');
    }
    for (const each of limits.flat()) checkLimits(each);
    this.#current = limits.map((family, tier) => {
      const before = this.#current[tier];
      return before !== undefined && same(before.limits, family) ? before : planOf(this.#slab, tier, family);
    });
  }
}

const planOf = (slab: Slab, tier: number, limits: FamilyLimits): Plan => {
  const kinds: Kind[] = [];
  const plan = { tier, limits, kinds };
  for (const [scope, each] of limits.entries()) kinds.push(new Kind(slab, plan, scope, each));
  return plan;
};
