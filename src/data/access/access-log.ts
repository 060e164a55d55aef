import { type Clock, type Millis, minuteMs, seconds } from '../../clock.ts';
import type { Code } from '../../errors.ts';
import type { Head } from '../../http/route.ts';
import type { BearerPrincipal, Identity } from './principal.ts';

export interface Aim {
  readonly method: string;
  readonly path: string;
}

/** Grouped by credential, route, reason and minute. */
export interface Denied {
  readonly who: Identity;
  readonly route: string;
  readonly code: Code;
  count: number;
  readonly firstAt: Millis;
  lastAt: Millis;
  /** Of the last one. */
  ip: string;
  requestId: string;
}

/** Kinds kept at most; further refusals are counted by `missed`. */
const mostDenied = 10_000;

/** One each second. */
export const turns = 60;
const everyTurn: readonly number[] = Array.from({ length: turns }, (_, turn) => turn);

/** Any turn, if always the same. */
const turnOf = (id: string): number => (id.charCodeAt(id.length - 1) * 31 + id.charCodeAt(id.length - 2)) % turns;

/** In memory. A use costs the hot path two comparisons, and a list entry once a minute. */
export class AccessLog {
  /** Unix seconds from `tick`: reading the clock costs 30 ns per request. */
  now: number;
  /** By turn, so that a million credentials are not scanned each second. */
  readonly #used: BearerPrincipal[][] = everyTurn.map(() => []);
  #denied = new Map<string, Denied>();
  missed = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.now = seconds(clock.wall());
  }

  tick(): void {
    this.now = seconds(this.#clock.wall());
  }

  used(principal: BearerPrincipal): void {
    if (principal.usedAt === this.now) return;
    if (principal.noted !== true) {
      principal.noted = true;
      this.#used[turnOf(principal.id)]!.push(principal);
    }
    principal.usedAt = this.now;
  }

  refused(who: Identity, aim: Aim, code: Code, head: Head): void {
    const at = this.#clock.wall();
    const route = `${aim.method} ${aim.path}`;
    const key = `${Math.floor(at / minuteMs)} ${who.id} ${route} ${code}`;
    const known = this.#denied.get(key);
    if (known) {
      known.count += 1;
      known.lastAt = at;
      known.ip = head.ip;
      known.requestId = head.requestId;
    } else if (this.#denied.size >= mostDenied) {
      this.missed += 1;
    } else {
      const { ip, requestId } = head;
      this.#denied.set(key, { who, route, code, count: 1, firstAt: at, lastAt: at, ip, requestId });
    }
  }

  /** Unix seconds by credential, since they were last taken. */
  takeUsed(now: readonly number[] = everyTurn): Map<string, number> {
    const uses = new Map<string, number>();
    for (const turn of now) {
      for (const principal of this.#used[turn]!) {
        const { id, usedAt = 0 } = principal;
        principal.noted = false;
        // The directory may have made several principals of one credential.
        if (usedAt > (uses.get(id) ?? 0)) uses.set(id, usedAt);
      }
      this.#used[turn] = [];
    }
    return uses;
  }

  /** Of past minutes, or all. */
  takeDenied(everything: boolean): Denied[] {
    const minute = Math.floor(this.#clock.wall() / minuteMs);
    const taken: Denied[] = [];
    for (const [key, denied] of this.#denied) {
      if (!everything && Math.floor(denied.firstAt / minuteMs) >= minute) continue;
      taken.push(denied);
      this.#denied.delete(key);
    }
    return taken;
  }
}
