import { expect } from 'vitest';
import { start } from '../../src/limits/count-request.ts';
import { quotaLines } from '../../src/limits/http/headers.ts';
import { waitAfter } from '../../src/limits/http/retry-after.ts';
import { inspect, inspectModels } from '../../src/limits/inspect.ts';
import type { OwnLimits, OwnLimitsSource } from '../../src/limits/own-limits.ts';
import { metricNames } from '../../src/limits/record/metrics.ts';
import type { FamilyLimits } from '../../src/limits/record/window-limits.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { enlarge, release, settle } from '../../src/limits/settle.ts';
import { RecordSweep } from '../../src/limits/sweep.ts';
import { retightenKey, retightenProject } from '../../src/limits/window/models.ts';
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

/** Of which m2 never has limits. */
export const modelIds = ['m0', 'm1', 'm2'] as const;

/** What may have limits of its own: by the oracle's name, and its project and organization. */
export const tightenable: readonly Who[] = [
  ...people.map(([key, project, organization]) => [`0:${key}`, project, organization] as const),
  ...(['p0', 'p1', 'p2'] as const).flatMap((project) =>
    [`1:${project}`, `3:${project}/m0`, `3:${project}/m1`].map(
      (name) => [name, project, project === 'p2' ? 'o1' : 'o0'] as const,
    ),
  ),
];

/** The oracle's limits, as a store asks for them. */
export const ownOf = ({ own }: Oracle): OwnLimitsSource => ({
  ofKey: (key) => own.get(`0:${key}`) ?? null,
  ofProject: (project) => ({
    whole: own.get(`1:${project}`) ?? null,
    models: new Map(
      modelIds.flatMap((model) => {
        const found = own.get(`3:${project}/${model}`);
        return found ? [[model, found] as const] : [];
      }),
    ),
  }),
});

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
  /** `project/model` of the windows that count it, too. */
  ofModel: string | null;
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
  operations = 0;
  /** Requests that have come, for the count that a run must reach. */
  attempts = 0;
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
      own: ownOf(this.oracle),
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

  start(who: Who, need: number | 'unknown' = 0, model: string | null = null): void {
    const real = start(this.store, this.counted(who), this.now);
    const admitted = this.oracle.start(who);
    this.operations++;
    this.attempts++;
    expect(isRefused(real) ? real : 0).toBe(admitted.why);
    if (isRefused(real)) this.checkWait(who, admitted.why, need, model);
    else this.held.push({ who, real, model: admitted.ticket!, reserved: false, ofModel: null });
  }

  reserve(number: number, tokens: number, model: string | null = null): void {
    const held = this.#pick(number, (each) => !each.reserved);
    if (!held) return;
    const real = reserve(this.store, held.real as Ticket, tokens, this.now, model);
    const why = this.oracle.reserve(held.model, tokens, model);
    this.operations++;
    expect(isRefused(real) ? real : 0).toBe(why);
    if (!isRefused(real)) {
      held.real = real;
      held.reserved = true;
      if (held.model.ofModel) held.ofModel = `${held.who[1]}/${model}`;
      return;
    }
    this.#drop(held);
    this.checkWait(held.who, why, tokens, model);
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

  /** Limits of a key's, a project's or a model's own change, or are taken away. */
  tighten(number: number, own: OwnLimits | null): void {
    const [name, project, organization] = tightenable[number]!;
    const ofKey = name.startsWith('0:');
    this.oracle.tighten(name, own && (ofKey ? own : { ...own, concurrent: null }), project, organization);
    if (ofKey) retightenKey(this.store, name.slice(2), this.now);
    else retightenProject(this.store, project, this.now);
    this.operations++;
  }

  headers(who: Who, model: string | null = null): void {
    const real = asHeaders(quotaLines(this.store, this.counted(who), this.now, false, model));
    expect(real).toEqual(this.oracle.headers(who, model));
    this.operations++;
  }

  inspect(who: Who): void {
    // Looking at a key may be what moves it to another tier; its project and organization are moved with it.
    const all = who.map((id, scope) => inspect(this.store, this.store.scopes[scope]!, id, this.now));
    this.operations++;
    for (const [scope, one] of this.oracle.of(who).entries()) {
      const seen = all[scope];
      // What has no record is empty.
      if (seen) expect(seen.windows).toEqual(this.#windowsOf(one));
      else expect(this.#windowsOf(one).filter(({ used }) => used !== 0)).toEqual([]);
    }
    const [, project, organization] = who;
    const tier = this.oracle.tiers.get(organization) ?? 0;
    const ofModels = inspectModels(this.store, project, organization, tier, this.now);
    const expected = modelIds.flatMap((model) => {
      const one = this.oracle.modelOf(who, model);
      return one ? [{ model, windows: this.#windowsOf(one) }] : [];
    });
    expect(ofModels.map(({ model, windows }) => ({ model, windows }))).toEqual(expected);
  }

  #windowsOf(one: ReturnType<Oracle['of']>[number]) {
    return [0, 1, 2, 3, 4]
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
  }

  sweep(): void {
    this.swept = true;
    this.#sweep.sweep(this.now, 4);
    this.operations++;
  }

  /** Retry-After against the oracle's search over all moments. */
  checkWait(who: Who, why: number, need: number | 'unknown', model: string | null): void {
    this.refusals++;
    const wait = waitAfter(this.store, this.counted(who), why, need, this.now, model);
    const earliest = this.oracle.earliest(who, need, model);
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
