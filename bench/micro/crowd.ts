import type { Tier } from '../../src/domain/organization/tiers.ts';
import { start } from '../../src/limits/count-request.ts';
import { inferenceWindows } from '../../src/limits/families.ts';
import { quotaLines } from '../../src/limits/http/headers.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { settle } from '../../src/limits/settle.ts';
import { isRefused } from '../../src/limits/window/ticket.ts';
import { type LimitSubject, limitSubject, type WindowStore } from '../../src/limits/window/window-store.ts';
import { ownersOf, popularKeys, tokens } from './traffic.ts';

/** The window store of Weir full of keys that have each been used once, and the order in which they are used again. */
export class CountedCrowd {
  readonly store: WindowStore;
  /** Whose turn it is, one after the other: what is measured does not look anybody up. */
  readonly #drawn: readonly LimitSubject[];
  #turn = 0;
  /** Kept from one operation to the next, so that nothing is optimized away. */
  headerBytes = 0;

  /** @param nowMs when each key is used once */
  constructor(keys: number, tier: Tier, nowMs: number) {
    const store = inferenceWindows({ tierOf: () => tier });
    this.store = store;
    const subjects = Array.from({ length: keys }, (_, n) => {
      const { key, project, organization } = ownersOf(n);
      return limitSubject(key, project, organization);
    });
    this.#drawn = Array.from(popularKeys(keys, 1 << 20), (key) => subjects[key]!);
    for (const subject of subjects) {
      const ticket = start(store, subject, nowMs);
      if (!isRefused(ticket)) settle(store, reserve(store, ticket, 1, nowMs) as never, 1);
    }
  }

  /** One request of the next key, from the attempt to the settled tokens. Whether it was admitted. */
  request(nowMs: number, withHeaders: boolean): boolean {
    const { store } = this;
    this.#turn = (this.#turn + 1) & (this.#drawn.length - 1);
    const subject = this.#drawn[this.#turn]!;
    const ticket = start(store, subject, nowMs);
    const reserved = isRefused(ticket) ? ticket : reserve(store, ticket, tokens.reserved, nowMs);
    if (withHeaders) this.headerBytes += quotaLines(store, subject, nowMs).length;
    if (isRefused(reserved)) return false;
    settle(store, reserved, tokens.taken);
    return true;
  }
}
