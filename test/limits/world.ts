import { expect } from 'vitest';
import { start } from '../../src/limits/count-request.ts';
import { quotaLines } from '../../src/limits/http/headers.ts';
import { waitAfter } from '../../src/limits/http/retry-after.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { metricNames } from '../../src/limits/record/metrics.ts';
import type { FamilyLimits } from '../../src/limits/record/window-limits.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { enlarge, release, settle } from '../../src/limits/settle.ts';
import { RecordSweep } from '../../src/limits/sweep.ts';
import { retier } from '../../src/limits/window/records.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { type LimitSubject, limitSubject, type Trouble, WindowStore } from '../../src/limits/window/window-store.ts';
import { asHeaders } from './as-headers.ts';
import { Oracle, type OracleTicket } from './oracle.ts';
import { drain, wall } from './snapshots.ts';

export type Who = readonly [string, string, string];

/** Two organizations, three projects, six keys: enough to meet at every scope. */
export const people: readonly Who[] = [
  ['k0', 'p0', 'o0'],
  ['k1', 'p0', 'o0'],
  ['k2', 'p1', 'o0'],
  ['k3', 'p1', 'o0'],
  ['k4', 'p2', 'o1'],
  ['k5', 'p2', 'o1'],
];

/** Small enough that every limit is met; the second has a wide day ring. */
const plan = (
  rpm: number,
  rpd: number,
  tpm: number,
  tpd: number,
  concurrent: readonly [number, number, number],
): FamilyLimits =>
  [1, 1.5, 2].map((times, scope) => ({
    rpm: rpm * times,
    rpd: rpd * times,
    tpm: tpm * times,
    tpd: scope === 2 ? tpd : null,
    concurrent: concurrent[scope]!,
  }));
export const smallPlans: readonly FamilyLimits[] = [
  plan(4, 30, 100, 700, [2, 3, 4]),
  plan(8, 70_000, 250, 900, [3, 3, 3]),
  plan(2, 10, 60, 300, [1, 2, 2]),
];
const otherPlans: readonly FamilyLimits[] = [smallPlans[0]!, plan(6, 20, 80, 500, [2, 2, 3]), smallPlans[2]!];

interface Held {
  readonly who: Who;
  real: Ticket;
  readonly model: OracleTicket;
  reserved: boolean;
}

/** A store and the oracle side by side: every operation is done to both, and both must say the same. */
export class World {
  readonly store: WindowStore;
  readonly oracle: Oracle;
  readonly troubles: Trouble[] = [];
  readonly held: Held[] = [];
  readonly ended: Ticket[] = [];
  /** What snapshots have written so far. */
  readonly saved: Uint8Array[] = [];
  readonly #sweep: RecordSweep;
  readonly #counted = new Map<string, LimitSubject>();
  #swapped = false;
  now = 0;
  /** Operations done, for the count that a run must reach. */
  operations = 0;
  /** Whether records may have been dropped. */
  swept = false;
  refusals = 0;

  constructor(plans = smallPlans) {
    this.oracle = new Oracle(plans);
    this.store = new WindowStore({
      name: 'test',
      scopes: ['key', 'project', 'organization'],
      plans,
      tierOf: (organization) => this.oracle.tiers.get(organization) ?? 0,
      report: (trouble) => this.troubles.push(trouble),
    });
    this.#sweep = new RecordSweep(this.store);
  }

  counted(who: Who): LimitSubject {
    let found = this.#counted.get(who[0]);
    if (!found) {
      found = limitSubject(...who);
      this.#counted.set(who[0], found);
    }
    return found;
  }

  /** Time goes on; less than nothing stands for a clock that goes back, which nobody may notice. */
  pass(ms: number): void {
    this.now += ms;
    this.oracle.pass(this.now);
    this.store.time.set(this.now);
    this.operations++;
  }

  /** The wall clock, which goes on as the store's time does. */
  get wall(): number {
    return wall + this.oracle.now;
  }

  /** As upkeep does once a second: what is new since the last time goes into a file. */
  save(most: number): void {
    this.saved.push(...drain(this.store, this.wall, this.now, most));
    this.operations++;
  }

  start(who: Who, need: number | 'unknown' = 0): void {
    const real = start(this.store, this.counted(who), this.now);
    const model = this.oracle.start(who);
    this.operations++;
    expect(isRefused(real) ? real : 0).toBe(model.why);
    if (isRefused(real)) this.checkWait(who, model.why, need);
    else this.held.push({ who, real, model: model.ticket!, reserved: false });
  }

  reserve(number: number, tokens: number): void {
    const held = this.#pick(number, (each) => !each.reserved);
    if (!held) return;
    const real = reserve(this.store, held.real as Ticket, tokens, this.now);
    const why = this.oracle.reserve(held.model, tokens);
    this.operations++;
    expect(isRefused(real) ? real : 0).toBe(why);
    if (!isRefused(real)) {
      held.real = real;
      held.reserved = true;
      return;
    }
    this.#drop(held);
    this.checkWait(held.who, why, tokens);
  }

  enlarge(number: number, tokens: number): void {
    const held = this.#pick(number, (each) => each.reserved);
    if (!held) return;
    enlarge(this.store, held.real as Ticket, tokens);
    this.oracle.enlarge(held.model, tokens);
    this.operations++;
  }

  settle(number: number, tokens: number): void {
    const held = this.#pick(number, (each) => each.reserved);
    if (!held) return;
    settle(this.store, held.real as Ticket, tokens);
    this.oracle.settle(held.model, tokens);
    this.#drop(held);
    this.operations++;
  }

  release(number: number): void {
    const held = this.#pick(number, () => true);
    if (!held) return;
    release(this.store, held.real);
    this.oracle.settle(held.model, 0);
    this.#drop(held);
    this.operations++;
  }

  /** A ticket that has ended is ended again: reported, and nothing else. */
  endAgain(number: number): void {
    const ticket = this.ended[number % Math.max(1, this.ended.length)];
    if (ticket === undefined) return;
    const before = this.troubles.length;
    if (number % 2) settle(this.store, ticket as Ticket, 1_000_000);
    else release(this.store, ticket);
    expect(this.troubles.slice(before)).toEqual([
      { kind: 'ticket_ended_twice', key: ticket.key.id, organization: ticket.key.organization.id },
    ]);
    this.operations++;
  }

  retier(organization: string, tier: number): void {
    this.oracle.retier(organization, tier);
    retier(this.store, organization, this.now);
    this.operations++;
  }

  /** Other limits for the second tier, and back. */
  replan(): void {
    this.#swapped = !this.#swapped;
    this.oracle.plans = this.#swapped ? otherPlans : smallPlans;
    this.store.plans.replace(this.oracle.plans);
    this.operations++;
  }

  headers(who: Who): void {
    expect(asHeaders(quotaLines(this.store, this.counted(who), this.now))).toEqual(this.oracle.headers(who));
    this.operations++;
  }

  inspect(who: Who): void {
    // Looking at a key may be what moves it to another tier; its project and organization are moved with it.
    const all = who.map((id, scope) => inspect(this.store, this.store.scopes[scope]!, id, this.now));
    this.operations++;
    for (const [scope, one] of this.oracle.of(who).entries()) {
      const seen = all[scope];
      if (!seen) {
        // What has no record is empty.
        const metrics = [0, 1, 2, 3, 4].filter((metric) => this.oracle.limit(one, metric) !== null);
        expect(metrics.filter((metric) => this.oracle.used(one, metric) !== 0)).toEqual([]);
        continue;
      }
      const windows = [0, 1, 2, 3, 4]
        .filter((metric) => this.oracle.limit(one, metric) !== null)
        .map((metric) => {
          const limit = this.oracle.limit(one, metric)!;
          const used = this.oracle.used(one, metric);
          const remaining = Math.max(0, limit - used);
          const resetMs = metric === 2 ? (used === 0 ? 0 : null) : this.oracle.reset(one, metric);
          // The log holds no more than its limit.
          return {
            metric: metricNames[metric],
            used: metric === 0 ? Math.min(used, limit) : used,
            limit,
            remaining,
            resetMs,
          };
        });
      expect(seen.windows).toEqual(windows);
    }
  }

  sweep(): void {
    this.swept = true;
    this.#sweep.sweep(this.now, 4);
    this.operations++;
  }

  /** Retry-After against the oracle's search over all moments. */
  checkWait(who: Who, why: number, need: number | 'unknown'): void {
    this.refusals++;
    const wait = waitAfter(this.store, this.counted(who), why, need, this.now);
    const earliest = this.oracle.earliest(who, need);
    expect(wait.seconds).toBe(Math.max(1, Math.ceil((earliest - this.oracle.now) / 1000)));
  }

  #pick(number: number, fits: (held: Held) => boolean): Held | undefined {
    const fitting = this.held.filter(fits);
    return fitting[number % Math.max(1, fitting.length)];
  }

  #drop(held: Held): void {
    this.ended.push(held.real);
    this.held.splice(this.held.indexOf(held), 1);
  }
}
