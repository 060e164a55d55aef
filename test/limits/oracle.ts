import type { FamilyLimits, WindowLimits } from '../../src/limits/record/window-limits.ts';

/**
 * What contract F says, over plain lists and nothing else: every attempt and every reservation is kept and counted
 * again for every question. Slow, obvious, and written without a look at the store.
 */

export interface Entry {
  readonly at: number;
  /** Now in the minute windows of the three scopes, and in the day window. */
  readonly minute: number[];
  /** The same as it was reserved. */
  readonly reserved: readonly number[];
  /** The limits at the reservation, which it does not exceed. */
  readonly within: { readonly minute: readonly number[]; readonly day: number };
  day: number;
}

interface Instance {
  readonly scope: number;
  /** Newest last. */
  attempts: number[];
  /** With those that a change of limits has made forgotten. */
  allAttempts: number[];
  /** Attempts of the day are never forgotten for a limit. */
  day: number[];
  entries: Entry[];
  inFlight: number;
  limits: WindowLimits;
}

export interface OracleTicket {
  readonly who: readonly [string, string, string];
  entry: Entry | null;
  open: boolean;
}

const minute = 60_000;
const tick = (at: number, size: number) => Math.floor(at / size);
/** In the running bucket or one of the `full` ones before it. */
const counts = (now: number, at: number, size: number, full: number) => tick(now, size) - tick(at, size) <= full;

const bit = (metric: number, scope: number) => 2 ** (metric * 3 + scope);

export class Oracle {
  now = 0;
  plans: readonly FamilyLimits[];
  readonly tiers = new Map<string, number>();
  readonly #instances = new Map<string, Instance>();

  constructor(plans: readonly FamilyLimits[]) {
    this.plans = plans;
  }

  pass(now: number): void {
    this.now = Math.max(this.now, Math.floor(now));
  }

  /** Key, project and organization as lists. A tier that changed reaches each of them here. */
  of(who: readonly [string, string, string]): [Instance, Instance, Instance] {
    const plan = this.plans[this.tiers.get(who[2]) ?? 0]!;
    return who.map((id, scope) => this.#follow(`${scope}:${id}`, scope, plan[scope]!)) as [
      Instance,
      Instance,
      Instance,
    ];
  }

  /** The organization's own windows change at once; those of its projects and keys when they are next used. */
  retier(organization: string, tier: number): void {
    this.tiers.set(organization, tier);
    const name = `2:${organization}`;
    if (this.#instances.has(name)) this.#follow(name, 2, this.plans[tier]![2]!);
  }

  #follow(name: string, scope: number, limits: WindowLimits): Instance {
    let found = this.#instances.get(name);
    if (!found) {
      found = { scope, attempts: [], allAttempts: [], day: [], entries: [], inFlight: 0, limits };
      this.#instances.set(name, found);
    }
    // Known are the newest attempts, as many as the old limit (contract F.1).
    if (found.limits !== limits) {
      found.attempts = found.attempts.slice(-found.limits.rpm);
      found.limits = limits;
    }
    return found;
  }

  rpmUsed = (one: Instance, now = this.now) => one.attempts.filter((at) => now - at < minute).length;
  rpdUsed = (one: Instance, now = this.now) => one.day.filter((at) => counts(now, at, 600_000, 144)).length;
  tpmUsed = (one: Instance, now = this.now) =>
    one.entries.reduce((sum, { at, minute: m }) => sum + (counts(now, at, 1000, 60) ? m[one.scope]! : 0), 0);
  tpdUsed = (one: Instance, now = this.now) =>
    one.entries.reduce((sum, { at, day }) => sum + (counts(now, at, 600_000, 144) ? day : 0), 0);

  used(one: Instance, metric: number, now = this.now): number {
    return [this.rpmUsed, this.rpdUsed, () => one.inFlight, this.tpmUsed, this.tpdUsed][metric]!(one, now);
  }

  limit(one: Instance, metric: number): number | null {
    const { rpm, rpd, concurrent, tpm, tpd } = one.limits;
    return [rpm, rpd, concurrent, tpm, tpd][metric]!;
  }

  start(who: readonly [string, string, string]): { readonly why: number; readonly ticket: OracleTicket | null } {
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
    return { why, ticket: { who, entry: null, open: true } };
  }

  reserve(ticket: OracleTicket, tokens: number): number {
    const all = this.of(ticket.who);
    let why = 0;
    const amounts = all.map(({ limits }) => Math.min(tokens, limits.tpm!));
    const day = Math.min(tokens, all[2].limits.tpd!);
    for (const one of tokens === 0 ? [] : all) {
      const amount = amounts[one.scope]!;
      if (this.tpmUsed(one) + amount > one.limits.tpm!) why += bit(3, one.scope);
    }
    if (tokens > 0 && this.tpdUsed(all[2]) + day > all[2].limits.tpd!) why += bit(4, 2);
    if (why !== 0) {
      this.end(ticket);
      return why;
    }
    // What is promised to the outside: no true minute, no true day above the limit.
    for (const one of tokens === 0 ? [] : all) {
      const true60 = one.entries.filter(({ at }) => this.now - at < minute);
      const sum = true60.reduce((total, entry) => total + entry.minute[one.scope]!, amounts[one.scope]!);
      if (sum > one.limits.tpm!) throw new Error('a true minute above the limit was admitted');
    }
    const sum = all[2].entries.filter(({ at }) => this.now - at < 86_400_000).reduce((total, e) => total + e.day, day);
    if (tokens > 0 && sum > all[2].limits.tpd!) throw new Error('a true day above the limit was admitted');
    const within = { minute: all.map(({ limits }) => limits.tpm!), day: all[2].limits.tpd! };
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
  }

  #at(who: readonly [string, string, string]): Instance[] {
    return who.map((id, scope) => this.#instances.get(`${scope}:${id}`)!);
  }

  /** Whether the same request would pass all limits but concurrency at `then`, if nothing else came. */
  #passes(who: readonly [string, string, string], need: number | 'unknown', then: number): boolean {
    return this.of(who).every((one) => {
      const { rpm, rpd, tpm, tpd } = one.limits;
      if (this.rpmUsed(one, then) >= rpm || (rpd !== null && this.rpdUsed(one, then) >= rpd)) return false;
      if (need === 0) return true;
      const minuteNeed = need === 'unknown' ? tpm! : Math.min(need, tpm!);
      if (this.tpmUsed(one, then) + minuteNeed > tpm!) return false;
      return tpd === null || this.tpdUsed(one, then) + (need === 'unknown' ? 1 : Math.min(need, tpd)) <= tpd;
    });
  }

  /** The earliest moment at which it passes, found by trying every moment at which anything leaves any window. */
  earliest(who: readonly [string, string, string], need: number | 'unknown'): number {
    const moments = new Set([this.now]);
    for (const one of this.of(who)) {
      for (const at of one.attempts) moments.add(at + minute);
      for (const at of one.day) moments.add((tick(at, 600_000) + 145) * 600_000);
      for (const { at } of one.entries)
        moments.add((tick(at, 1000) + 61) * 1000).add((tick(at, 600_000) + 145) * 600_000);
    }
    const later = [...moments].filter((at) => at >= this.now).sort((a, b) => a - b);
    return later.find((at) => this.#passes(who, need, at))!;
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
  headers(who: readonly [string, string, string]): Record<string, string> {
    const all = this.of(who);
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
