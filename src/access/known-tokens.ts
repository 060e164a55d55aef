import type { LimitSubject } from '../limits/window/window-store.ts';
import type { Inactive } from './directory.ts';
import type { BearerPrincipal } from './principal.ts';

/** A token that belongs to a credential, as the directory knows that at present. */
export class KnownToken {
  /** As it is sent, with its scheme: `Bearer gwp_` and so on. */
  readonly text: string;
  /** 32 latin1 characters, under the pepper with which the directory knows it. */
  readonly digest: string;
  /** Whose it is. Ask the directory again once it is stale. */
  found: BearerPrincipal | Inactive;
  /** Where the credential is counted; made when it is first used. */
  inference: LimitSubject | undefined = undefined;
  credits: LimitSubject | undefined = undefined;
  administration: LimitSubject | undefined = undefined;

  constructor(text: string, digest: string, found: BearerPrincipal | Inactive) {
    this.text = text;
    this.digest = digest;
    this.found = found;
  }
}

/** Each entry takes some 0.5 KB, so all of them together 32 MB. */
const capacity = 65_536;
/** As many tags as half a cache line holds. */
const ways = 8;

/**
 * Tokens of credentials that were in use lately. To look a token up here instead of to check and to hash it spares 3 µs of
 * a request that takes 12 (measured under load). Only tokens that the directory knows get in, so strangers cannot fill it,
 * and whether the credential works is never older here than in the directory.
 *
 * A cache of sets of eight: a token has its set and its tag by its own last characters, which are random, and in a full
 * set the one that came first gives way. That spares what a `Map` does to a string that has just been made, to hash it, and
 * a look at tokens whose tag is another's. Beside the tags lies where the windows of each were last, so that these are read
 * while the token is still compared: from token to credential to its subject to its records each is a cache miss of its own.
 *
 * It holds tokens in clear in the process's memory, where each of them has been with every request that carries it.
 */
export class KnownTokens {
  readonly #sets: number;
  readonly #tags: Int32Array;
  readonly #entries: (KnownToken | undefined)[];
  /** By set, the way that is filled next. */
  readonly #next: Uint8Array;

  /** @param most entries kept; a power of two */
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

  /** Takes in one that was not found. */
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
