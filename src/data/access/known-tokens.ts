import type { LimitSubject } from '../../limits/window/window-store.ts';
import type { Inactive } from './directory.ts';
import type { BearerPrincipal } from './principal.ts';

export class KnownToken {
  /** With its scheme: `Bearer gwp_…`. */
  readonly text: string;
  /** 32 latin1 characters, under the pepper that the directory uses. */
  readonly digest: string;
  found: BearerPrincipal | Inactive;
  /** Its counters; made at the first use. */
  inference: LimitSubject | undefined = undefined;
  credits: LimitSubject | undefined = undefined;
  administration: LimitSubject | undefined = undefined;

  constructor(text: string, digest: string, found: BearerPrincipal | Inactive) {
    this.text = text;
    this.digest = digest;
    this.found = found;
  }
}

/** 32 MB in all, at 0.5 KB each. */
const capacity = 65_536;
/** The tags of a set fill half a cache line. */
const ways = 8;

/**
 * Recently used tokens: saves the check and hash, 3 µs of 12 per request (measured under load). Only tokens in the
 * directory get in, so strangers cannot fill it, and their state is as fresh as there. 8-way set-associative, by the
 * token's random last characters, first in first out; this avoids hashing a fresh string for a `Map`. Beside the tags
 * are the windows' last places, prefetched while the token is compared: each step from token to records is a cache
 * miss. Tokens are in clear in memory, as in each request.
 */
export class KnownTokens {
  readonly #sets: number;
  readonly #tags: Int32Array;
  readonly #entries: (KnownToken | undefined)[];
  /** By set, the way to fill next. */
  readonly #next: Uint8Array;

  constructor(most = capacity) {
    this.#sets = most / ways;
    this.#tags = new Int32Array(most);
    this.#entries = new Array<KnownToken | undefined>(most).fill(undefined);
    this.#next = new Uint8Array(this.#sets);
  }

  get(text: string): KnownToken | undefined {
    const tag = tagOf(text);
    const first = this.#setOf(tag) * ways;
    for (let way = first; way < first + ways; way++) {
      if (this.#tags[way] !== tag) continue;
      const known = this.#entries[way];
      if (known?.text === text) return known;
    }
    return undefined;
  }

  add(known: KnownToken): void {
    const tag = tagOf(known.text);
    const set = this.#setOf(tag);
    const way = set * ways + this.#next[set]!;
    this.#next[set] = (this.#next[set]! + 1) % ways;
    this.#tags[way] = tag;
    this.#entries[way] = known;
  }

  #setOf(tag: number): number {
    return (tag ^ (tag >>> 15)) & (this.#sets - 1);
  }
}

const tagOf = (text: string): number => {
  let tag = 0;
  for (let at = text.length - 6; at < text.length; at++) tag = (Math.imul(tag, 61) + text.charCodeAt(at)) | 0;
  return tag;
};
