import type { OwnLimits } from '../../src/limits/own-limits.ts';
import type { FamilyLimits, WindowLimits } from '../../src/limits/record/window-limits.ts';

/**
 * What contract F says, over plain lists and nothing else: every attempt and every reservation is kept and counted
 * again for every question. Slow, obvious, and written without a look at the store.
 */

export interface Entry {
  readonly at: number;
  /** Now in the minute windows by place, and in the day window. */
  readonly minute: number[];
  /** The same as it was reserved. */
  readonly reserved: readonly number[];
  /** The limits at the reservation, which it does not exceed. */
  readonly within: { readonly minute: readonly number[]; readonly day: number };
  day: number;
}

interface Instance {
  readonly scope: number;
  /** The scope, or 3 for a project's windows for a model. */
  readonly place: number;
  /** Newest last. */
  attempts: number[];
  /** With those that a change of limits has made forgotten. */
  allAttempts: number[];
  /** Attempts of the day are never forgotten for a limit. */
  day: number[];
  entries: Entry[];
  inFlight: number;
  limits: WindowLimits;
  /** Its own, as they were when they last changed. */
  own: OwnLimits | null;
}

export interface OracleTicket {
  readonly who: Who;
  /** Those of its model, from the reservation on. */
  ofModel: Instance | null;
  entry: Entry | null;
  open: boolean;
}

type Who = readonly [string, string, string];

const minute = 60_000;
const tick = (at: number, size: number) => Math.floor(at / size);
/** In the running bucket or one of the `full` ones before it. */
const counts = (now: number, at: number, size: number, full: number) => tick(now, size) - tick(at, size) <= full;

const bit = (metric: number, scope: number) => 2 ** (metric * 3 + scope);

export class Oracle {
  now = 0;
  plans: readonly FamilyLimits[];
  readonly tiers = new Map<string, number>();
  /** By `0:key`, `1:project` and `3:project/model`. */
  readonly own = new Map<string, OwnLimits>();
  readonly #instances = new Map<string, Instance>();

  constructor(plans: readonly FamilyLimits[]) {
    this.plans = plans;
  }

  pass(now: number): void {
    this.now = Math.max(this.now, Math.floor(now));
  }

  /** Key, project and organization as lists. A tier that changed reaches each of them here. */
  of(who: Who): [Instance, Instance, Instance] {
    return who.map((id, scope) => this.#follow(`${scope}:${id}`, who[2])) as [Instance, Instance, Instance];
  }

  /** The same with the project's windows for the model before the project, if the model has limits there. */
  with(who: Who, model: string | null): Instance[] {
    const [key, project, organization] = this.of(who);
    const ofModel = this.modelOf(who, model);
    return ofModel ? [key, ofModel, project, organization] : [key, project, organization];
  }

  modelOf([, project, organization]: Who, model: string | null): Instance | null {
    const name = `3:${project}/${model}`;
    return this.own.has(name) ? this.#follow(name, organization) : null;
  }

  /** The organization's own windows change at once; those of its projects and keys when they are next used. */
  retier(organization: string, tier: number): void {
    this.tiers.set(organization, tier);
    const name = `2:${organization}`;
    if (this.#instances.has(name)) this.#follow(name, organization);
  }

  /** Limits of a key's, a project's or a model's own, which hold at once. What changes brings its project to the tier. */
  tighten(name: string, own: OwnLimits | null, project: string, organization: string): void {
    if (own === null) this.own.delete(name);
    else this.own.set(name, own);
    const found = this.#instances.get(name);
    // Without limits a model is not counted, and what was counted waits.
    if (!found || (own === null && name.startsWith('3:'))) return;
    if (JSON.stringify(found.own) === JSON.stringify(own)) return;
    found.own = own;
    this.#follow(name, organization);
    this.#follow(`1:${project}`, organization);
  }

  #follow(name: string, organization: string): Instance {
    const place = Number(name[0]);
    const scope = place === 3 ? 1 : place;
    const limits = this.#limitsOf(name, place, this.plans[this.tiers.get(organization) ?? 0]![scope]!);
    let found = this.#instances.get(name);
    if (!found) {
      const own = this.own.get(name) ?? null;
      found = { scope, place, attempts: [], allAttempts: [], day: [], entries: [], inFlight: 0, limits, own };
      this.#instances.set(name, found);
    }
    // Known are the newest attempts, as many as the old limit (contract F.1).
    if (JSON.stringify(found.limits) !== JSON.stringify(limits)) {
      found.attempts = found.attempts.slice(-found.limits.rpm);
      found.limits = limits;
    }
    return found;
  }

  #limitsOf(name: string, place: number, tier: WindowLimits): WindowLimits {
    const own = this.own.get(name);
    const least = (a: number | null | undefined, b: number | null) => (a == null || b === null ? b : Math.min(a, b));
    return {
      rpm: least(own?.rpm, tier.rpm)!,
      rpd: least(own?.rpd, tier.rpd),
      tpm: least(own?.tpm, tier.tpm),
      tpd: tier.tpd,
      concurrent: place === 3 ? null : least(own?.concurrent, tier.concurrent),
    };
  }

  rpmUsed = (one: Instance, now = this.now) => one.attempts.filter((at) => now - at < minute).length;
  rpdUsed = (one: Instance, now = this.now) => one.day.filter((at) => counts(now, at, 600_000, 144)).length;
  tpmUsed = (one: Instance, now = this.now) =>
    one.entries.reduce((sum, { at, minute: m }) => sum + (counts(now, at, 1000, 60) ? m[one.place]! : 0), 0);
  tpdUsed = (one: Instance, now = this.now) =>
    one.entries.reduce((sum, { at, day }) => sum + (counts(now, at, 600_000, 144) ? day : 0), 0);

  used(one: Instance, metric: number, now = this.now): number {
    return [this.rpmUsed, this.rpdUsed, () => one.inFlight, this.tpmUsed, this.tpdUsed][metric]!(one, now);
  }

  limit(one: Instance, metric: number): number | null {
    const { rpm, rpd, concurrent, tpm, tpd } = one.limits;
    return [rpm, rpd, concurrent, tpm, tpd][metric]!;
  }

  start(who: Who): { readonly why: number; readonly ticket: OracleTicket | null } {
    let why = 0;
    const all = this.of(who);
    for (const one of all) {
      for (const metric of [0, 1, 2]) {
        const limit = this.limit(one, metric);
        if (limit !== null && this.used(one, metric) >= limit) why += bit(metric, one.scope);
      }
      one.attempts.push(this.now);
      one.allAttempts.push(this.now);
      one.day.push(this.now);
    }
    if (why !== 0) return { why, ticket: null };
    for (const one of all) one.inFlight++;
    return { why, ticket: { who, ofModel: null, entry: null, open: true } };
  }

  reserve(ticket: OracleTicket, tokens: number, model: string | null = null): number {
    const all = this.with(ticket.who, model);
    const organization = all.at(-1)!;
    let why = 0;
    const ofModel = this.modelOf(ticket.who, model);
    ticket.ofModel = ofModel;
    if (ofModel) {
      // The attempt counts whatever comes of it.
      for (const metric of [0, 1]) {
        if (this.used(ofModel, metric) >= this.limit(ofModel, metric)!) why |= bit(metric, 1);
      }
      ofModel.attempts.push(this.now);
      ofModel.allAttempts.push(this.now);
      ofModel.day.push(this.now);
      ofModel.inFlight++;
    }
    const amounts = [0, 0, 0, 0];
    for (const one of all) amounts[one.place] = Math.min(tokens, one.limits.tpm!);
    const day = Math.min(tokens, organization.limits.tpd!);
    for (const one of tokens === 0 ? [] : all) {
      const amount = amounts[one.place]!;
      if (this.tpmUsed(one) + amount > one.limits.tpm!) why |= bit(3, one.scope);
    }
    if (tokens > 0 && this.tpdUsed(organization) + day > organization.limits.tpd!) why |= bit(4, 2);
    if (why !== 0) {
      this.end(ticket);
      return why;
    }
    // What is promised to the outside: no true minute, no true day above the limit.
    for (const one of tokens === 0 ? [] : all) {
      const true60 = one.entries.filter(({ at }) => this.now - at < minute);
      const sum = true60.reduce((total, entry) => total + entry.minute[one.place]!, amounts[one.place]!);
      if (sum > one.limits.tpm!) throw new Error('a true minute above the limit was admitted');
    }
    const young = organization.entries.filter(({ at }) => this.now - at < 86_400_000);
    const sum = young.reduce((total, e) => total + e.day, day);
    if (tokens > 0 && sum > organization.limits.tpd!) throw new Error('a true day above the limit was admitted');
    const most = [0, 0, 0, 0];
    for (const one of all) most[one.place] = one.limits.tpm!;
    const within = { minute: most, day: organization.limits.tpd! };
    ticket.entry = { at: this.now, minute: amounts, reserved: [...amounts], day, within };
    for (const one of all) one.entries.push(ticket.entry);
    return 0;
  }

  enlarge({ entry }: OracleTicket, tokens: number): void {
    if (entry === null) return;
    const { within } = entry;
    for (const [scope, limit] of within.minute.entries()) {
      entry.minute[scope] = Math.max(entry.minute[scope]!, Math.min(tokens, limit));
    }
    entry.day = Math.max(entry.day, Math.min(tokens, within.day));
  }

  settle(ticket: OracleTicket, tokens: number): void {
    if (ticket.entry) {
      ticket.entry.minute.fill(tokens);
      ticket.entry.day = tokens;
    }
    this.end(ticket);
  }

  end(ticket: OracleTicket): void {
    if (!ticket.open) return;
    ticket.open = false;
    for (const one of this.#at(ticket.who)) one.inFlight--;
    if (ticket.ofModel) ticket.ofModel.inFlight--;
  }

  #at(who: Who): Instance[] {
    return who.map((id, scope) => this.#instances.get(`${scope}:${id}`)!);
  }

  /** Whether the same request would pass all limits but concurrency at `then`, if nothing else came. */
  #passes(all: readonly Instance[], need: number | 'unknown', then: number): boolean {
    return all.every((one) => {
      const { rpm, rpd, tpm, tpd } = one.limits;
      if (this.rpmUsed(one, then) >= rpm || (rpd !== null && this.rpdUsed(one, then) >= rpd)) return false;
      if (need === 0) return true;
      const minuteNeed = need === 'unknown' ? tpm! : Math.min(need, tpm!);
      if (this.tpmUsed(one, then) + minuteNeed > tpm!) return false;
      return tpd === null || this.tpdUsed(one, then) + (need === 'unknown' ? 1 : Math.min(need, tpd)) <= tpd;
    });
  }

  /** The earliest moment at which it passes, found by trying every moment at which anything leaves any window. */
  earliest(who: Who, need: number | 'unknown', model: string | null = null): number {
    const all = this.with(who, model);
    const moments = new Set([this.now]);
    for (const one of all) {
      for (const at of one.attempts) moments.add(at + minute);
      for (const at of one.day) moments.add((tick(at, 600_000) + 145) * 600_000);
      for (const { at } of one.entries)
        moments.add((tick(at, 1000) + 61) * 1000).add((tick(at, 600_000) + 145) * 600_000);
    }
    const later = [...moments].filter((at) => at >= this.now).sort((a, b) => a - b);
    return later.find((at) => this.#passes(all, need, at))!;
  }

  /** Milliseconds until what remains of a window first grows. */
  reset(one: Instance, metric: number): number {
    const left = (now: number) => Math.max(0, this.limit(one, metric)! - this.used(one, metric, now));
    if (this.used(one, metric) === 0) return 0;
    const moments = [
      ...one.attempts.map((at) => at + minute),
      ...one.day.map((at) => (tick(at, 600_000) + 145) * 600_000),
      ...one.entries.flatMap(({ at }) => [(tick(at, 1000) + 61) * 1000, (tick(at, 600_000) + 145) * 600_000]),
    ].filter((at) => at > this.now);
    const present = left(this.now);
    return moments.sort((a, b) => a - b).find((at) => left(at) > present)! - this.now;
  }

  /** The quota headers of an answer now. */
  headers(who: Who, model: string | null = null): Record<string, string> {
    const all = this.with(who, model);
    const lines: Record<string, string> = {};
    for (const [subject, metrics] of [
      ['requests', [0, 1]],
      ['tokens', [3, 4]],
    ] as const) {
      const windows = all.flatMap((one) =>
        metrics
          .filter((metric) => this.limit(one, metric) !== null)
          .map((metric) => {
            const limit = this.limit(one, metric)!;
            return { one, metric, limit, left: Math.max(0, limit - this.used(one, metric)) };
          }),
      );
      // In exact fractions; the first of equals.
      const tightest = windows.reduce((a, b) =>
        BigInt(b.left) * BigInt(a.limit) < BigInt(a.left) * BigInt(b.limit) ? b : a,
      );
      const reset = `${Number((this.reset(tightest.one, tightest.metric) / 1000).toFixed(3))}s`;
      const names = subject === 'tokens' && tightest.one.scope === 1 ? ['tokens', 'project-tokens'] : [subject];
      for (const name of names) {
        lines[`x-ratelimit-limit-${name}`] = String(tightest.limit);
        lines[`x-ratelimit-remaining-${name}`] = String(tightest.left);
        lines[`x-ratelimit-reset-${name}`] = reset;
      }
    }
    return lines;
  }

  /** Forgets what no window can hold any more; for long runs. */
  prune(): void {
    for (const one of this.#instances.values()) {
      one.attempts = one.attempts.filter((at) => this.now - at < minute);
      one.allAttempts = one.allAttempts.filter((at) => this.now - at < minute);
      // Two more than count: a window that was saved and put back may be asked about as it was twenty minutes before.
      one.day = one.day.filter((at) => counts(this.now, at, 600_000, 146));
      one.entries = one.entries.filter(({ at }) => counts(this.now, at, 600_000, 146));
    }
  }
}
