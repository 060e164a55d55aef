import { nameOf, type OwnLimits } from '../own-limits.ts';
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

/** Kinds with own limits that a plan remembers; more only take memory twice. */
const mostRemembered = 1_000;

/** A tier's limits in force, with a kind of record for each scope. */
export class Plan {
  readonly tier: number;
  readonly limits: FamilyLimits;
  /** Of records without limits of their own. */
  readonly kinds: readonly Kind[];
  readonly #slab: Slab;
  readonly #tightened = new Map<string, Kind>();

  constructor(slab: Slab, tier: number, limits: FamilyLimits) {
    this.#slab = slab;
    this.tier = tier;
    this.limits = limits;
    this.kinds = limits.map((each, scope) => new Kind(slab, this, { scope, own: null, isOfModel: false }, each));
  }

  /** The kind of records for this scope whose limits are the smaller of their own and the plan's (contract F.8). */
  kindOf(whose: Whose): Kind {
    const { scope, own, isOfModel } = whose;
    if (own === null && !isOfModel) return this.kinds[scope]!;
    const name = `${scope} ${isOfModel} ${nameOf(own)}`;
    const known = this.#tightened.get(name);
    if (known !== undefined) return known;
    const made = new Kind(this.#slab, this, whose, tightened(this.limits[scope]!, whose));
    if (this.#tightened.size === mostRemembered) this.#tightened.clear();
    this.#tightened.set(name, made);
    return made;
  }
}

/** Whose limits a kind has. */
export interface Whose {
  readonly scope: number;
  readonly own: OwnLimits | null;
  /** A project's requests for one model, which the project's own count includes. */
  readonly isOfModel: boolean;
}

const tightened = (limits: WindowLimits, { own, isOfModel }: Whose): WindowLimits => {
  const least = (name: keyof OwnLimits): number | null => {
    const [mine, theirs] = [own?.[name] ?? null, limits[name]];
    return mine === null || theirs === null ? theirs : Math.min(mine, theirs);
  };
  return {
    rpm: least('rpm')!,
    rpd: least('rpd'),
    tpm: least('tpm'),
    tpd: limits.tpd,
    // The project's count is judged at the headers, and includes those of a model.
    concurrent: isOfModel ? null : least('concurrent'),
  };
};

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
  /** Null for the plan's alone. */
  readonly own: OwnLimits | null;
  readonly isOfModel: boolean;
  /** By metric; 0 for none. */
  readonly limits: Float64Array;
  readonly log: RequestLog;
  readonly minuteTokens: Ring | null;
  readonly dayRequests: Ring | null;
  readonly dayTokens: Ring | null;
  /** Length of a record. */
  readonly units: number;

  constructor(slab: Slab, plan: Plan, { scope, own, isOfModel }: Whose, limits: WindowLimits) {
    this.slab = slab;
    this.plan = plan;
    this.scope = scope;
    this.own = own;
    this.isOfModel = isOfModel;
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
      return before !== undefined && same(before.limits, family) ? before : new Plan(this.#slab, tier, family);
    });
  }
}
