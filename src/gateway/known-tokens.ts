import type { Inactive } from '../../projections/directory.ts';
import type { BearerPrincipal } from '../../projections/principal.ts';
import type { Counted } from '../limits/window-store.ts';

/** A token that belongs to a credential, as the directory knows that at present. */
export class KnownToken {
  /** As it is sent, with its scheme: `Bearer gwp_…`. */
  readonly text: string;
  /** 32 latin1 characters, under the pepper with which the directory knows it. */
  readonly digest: string;
  /** Whose it is. Ask the directory again once it is stale. */
  found: BearerPrincipal | Inactive;
  /** Where the credential is counted; made when it is first used. */
  inference: Counted | undefined = undefined;
  credits: Counted | undefined = undefined;
  administration: Counted | undefined = undefined;

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
 * A cache of sets of eight: a token has its place and its tag by its own last characters, which are random, and in a full
 * set the one that came first gives way. That spares what a `Map` does to a string that has just been made, to hash it, and
 * a look at tokens whose tag is another's.
 *
 * It holds tokens in clear in the process's memory, where each of them has been with every request that carries it.
 */
export class KnownTokens {
  readonly #sets: number;
  readonly #tags: Int32Array;
  readonly #entries: (KnownToken | undefined)[];
  readonly #ahead: (likely: KnownToken) => number;
  /** What `ahead` has given; it means nothing, and is kept so that its reads are not left out. */
  read = 0;

  /**
   * @param ahead reads what will be wanted of an entry that is very likely the one, before it is compared
   * @param most entries kept; a power of two
   */
  constructor(ahead: (likely: KnownToken) => number, most = capacity) {
    this.#sets = most / ways;
    this.#tags = new Int32Array(most);
    this.#entries = new Array<KnownToken | undefined>(most).fill(undefined);
    this.#ahead = ahead;
  }

  get(text: string): KnownToken | undefined {
    const tag = tagOf(text);
    const first = this.#first(tag);
    for (let way = first; way < first + ways; way++) {
      if (this.#tags[way] !== tag) continue;
      const known = this.#entries[way];
      if (known === undefined) return undefined;
      this.read = this.#ahead(known);
      if (known.text === text) return known;
    }
    return undefined;
  }

  add(known: KnownToken): void {
    const tag = tagOf(known.text);
    const first = this.#first(tag);
    this.#tags.copyWithin(first + 1, first, first + ways - 1);
    this.#tags[first] = tag;
    this.#entries.copyWithin(first + 1, first, first + ways - 1);
    this.#entries[first] = known;
  }

  #first(tag: number): number {
    return ((tag ^ (tag >>> 15)) & (this.#sets - 1)) * ways;
  }
}

const tagOf = (text: string): number => {
  let tag = 0;
  for (let at = text.length - 6; at < text.length; at++) tag = (Math.imul(tag, 61) + text.charCodeAt(at)) | 0;
  return tag;
};
