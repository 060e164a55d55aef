import { concurrentRequests, requestsPerDay, requestsPerMinute, tokensPerDay, tokensPerMinute } from './metrics.ts';
import { logHeadWords, RequestLog } from './request-log.ts';
import { Ring, ringHeadWords } from './ring.ts';
import type { Slab } from './slab.ts';
import { secondMs, tenMinutesMs } from './time.ts';
import { checkLimits, type FamilyLimits, type WindowLimits } from './window-limits.ts';

/** Full buckets, besides the running one. */
const secondsOfMinute = 60;
const tenMinutesOfDay = 144;

/** Largest values of a bucket; see `mostPossible`. */
const mostRequestsNarrow = 0xffff;
const mostRequestsWide = 0x7f_ffff;
export const mostTokens = 0x7fff_ffff;

/** Words of a record's header: the log's head, with the requests in flight in its last half, and three more. */
export const headerWords = logHeadWords + 3;

/** A tier's limits in force, with a kind of record for each scope. */
export interface Plan {
  readonly tier: number;
  readonly limits: FamilyLimits;
  readonly kinds: readonly Kind[];
}

/**
 * The limits and the memory layout of all records of one scope and plan. Heads come before cells, and what a request reads first
 * comes first:
 *
 * ```
 * header | head of tokens a minute | of requests a day | of tokens a day | their cells in this order | log: rpm × u16
 * ```
 */
export class Kind {
  readonly slab: Slab;
  readonly plan: Plan;
  readonly scope: number;
  /** By metric; 0 for none. */
  readonly limits: Float64Array;
  readonly log: RequestLog;
  readonly minuteTokens: Ring | null;
  readonly dayRequests: Ring | null;
  readonly dayTokens: Ring | null;
  /** Length of a record. */
  readonly units: number;

  constructor(slab: Slab, plan: Plan, scope: number, limits: WindowLimits) {
    this.slab = slab;
    this.plan = plan;
    this.scope = scope;
    const { rpm, rpd, tpm, tpd, concurrent } = limits;
    // A typed array, because a plain array changes its representation for limits above 31 bits.
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

  /** The ring of a metric, if there is one. */
  ring(metric: number): Ring | null {
    if (metric === tokensPerMinute) return this.minuteTokens;
    if (metric === requestsPerDay) return this.dayRequests;
    return metric === tokensPerDay ? this.dayTokens : null;
  }
}

const same = (a: FamilyLimits, b: FamilyLimits): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The plans in force by tier. A record keeps its plan until it is used again. */
export class Plans {
  #current: readonly Plan[] = [];
  readonly #slab: Slab;
  readonly #scopes: number;

  constructor(slab: Slab, scopes: number, limits: readonly FamilyLimits[]) {
    this.#slab = slab;
    this.#scopes = scopes;
    this.replace(limits);
  }

  get tiers(): number {
    return this.#current.length;
  }

  /** @throws RangeError for an unknown tier */
  of(tier: number): Plan {
    const plan = this.#current[tier];
    if (plan === undefined) throw new RangeError(`There are no limits for tier ${tier}.`);
    return plan;
  }

  /** Replaces all limits. @throws RangeError where one does not fit a record, before anything is changed */
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
