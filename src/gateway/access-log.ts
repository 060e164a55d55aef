import type { BearerPrincipal, Identity } from '../../projections/principal.ts';
import { type Clock, type Millis, seconds } from '../clock.ts';
import type { Code } from '../errors.ts';
import type { Head } from '../http/route.ts';

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
const minuteMs = 60_000;

/**
 * What credentials do, gathered in memory until somebody takes it: last uses and refused attempts. Noting a use costs the
 * hot path two comparisons, and a list entry once a minute.
 */
export class AccessLog {
  /** Unix seconds, brought up to date by `tick`: reading the clock would cost each request 30 ns. */
  now: number;
  #used: BearerPrincipal[] = [];
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
      this.#used.push(principal);
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

  /** The last uses since they were last taken, of the organizations that are due: Unix seconds by credential, by organization. */
  takeUsed(due: (organizationId: string) => boolean = () => true): Map<string, Map<string, number>> {
    const byOrganization = new Map<string, Map<string, number>>();
    const later: BearerPrincipal[] = [];
    for (const principal of this.#used) {
      const { id, organizationId, usedAt = 0 } = principal;
      if (!due(organizationId)) {
        later.push(principal);
        continue;
      }
      principal.noted = false;
      const uses = byOrganization.get(organizationId) ?? new Map<string, number>();
      byOrganization.set(organizationId, uses);
      // The directory forgets and finds again: one credential may have been several principals.
      if (usedAt > (uses.get(id) ?? 0)) uses.set(id, usedAt);
    }
    this.#used = later;
    return byOrganization;
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
