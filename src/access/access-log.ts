import { type Clock, type Millis, minuteMs, seconds } from '../clock.ts';
import type { Code } from '../errors.ts';
import type { Head } from '../http/route.ts';
import type { BearerPrincipal, Identity } from './principal.ts';

/** Where an attempt was aimed: a route as it is documented. */
export interface Aim {
  readonly method: string;
  readonly path: string;
}

/** Refusals of one credential at one route for one reason within one minute. */
export interface Denied {
  readonly who: Identity;
  readonly route: string;
  readonly code: Code;
  count: number;
  readonly firstAt: Millis;
  lastAt: Millis;
  /** Address and request of the last of them. */
  ip: string;
  requestId: string;
}

/** Kinds of refusal counted apart at most; what comes beyond, until they are taken, is counted by `missed`. */
const mostDenied = 10_000;

/** A minute has as many turns as seconds. */
export const turns = 60;
const everyTurn: readonly number[] = Array.from({ length: turns }, (_, turn) => turn);

/** The turn at which a credential's uses are taken: any, as long as it is always the same. */
const turnOf = (id: string): number => (id.charCodeAt(id.length - 1) * 31 + id.charCodeAt(id.length - 2)) % turns;

/**
 * What credentials do, gathered in memory until somebody takes it: last uses and refused attempts. Noting a use costs the
 * hot path two comparisons, and a list entry once a minute.
 */
export class AccessLog {
  /** Unix seconds, brought up to date by `tick`: reading the clock would cost each request 30 ns. */
  now: number;
  /** By turn, so that a million credentials in use are not looked through every second. */
  readonly #used: BearerPrincipal[][] = everyTurn.map(() => []);
  #denied = new Map<string, Denied>();
  /** Refusals that had no room. */
  missed = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.now = seconds(clock.wall());
  }

  /** About once a second. */
  tick(): void {
    this.now = seconds(this.#clock.wall());
  }

  /** A credential was judged good, whatever becomes of its request. */
  used(principal: BearerPrincipal): void {
    if (principal.usedAt === this.now) return;
    if (principal.noted !== true) {
      principal.noted = true;
      this.#used[turnOf(principal.id)]!.push(principal);
    }
    principal.usedAt = this.now;
  }

  /** A credential that is known was refused. */
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

  /** The last uses since they were last taken, of the credentials whose turn it is: Unix seconds by credential. */
  takeUsed(now: readonly number[] = everyTurn): Map<string, number> {
    const uses = new Map<string, number>();
    for (const turn of now) {
      for (const principal of this.#used[turn]!) {
        const { id, usedAt = 0 } = principal;
        principal.noted = false;
        // The directory forgets and finds again: one credential may have been several principals.
        if (usedAt > (uses.get(id) ?? 0)) uses.set(id, usedAt);
      }
      this.#used[turn] = [];
    }
    return uses;
  }

  /** The refusals of the minutes that are over, or all of them. */
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
