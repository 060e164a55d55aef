import { integerBetween, type Random, seededRandom } from '../seed.ts';
import { countTokens, tokenize } from '../tokens.ts';

/** At most four characters with punctuation: one token with the space before. */
const words = (
  'the a of to and in for with on by at from as is was are were has had can may will must then also only most few all ' +
  'each both some any one two four six day week year time hour way part end line page note list plan idea fact case ' +
  'test data log key code unit rate load path gate dam lake pond mill rain tide wave flow it, so, but, now, yes, no, ' +
  'here once more less near far fast slow calm cool warm deep long wide flat even read sent kept held made seen said'
).split(' ');

const corpusTokens = 4096;
const { corpus, ends } = (() => {
  const random = seededRandom(0x77656972);
  const bounds = new Uint32Array(corpusTokens + 1);
  let text = '';
  for (let index = 0; index < corpusTokens; index += 1) {
    text += ` ${words[integerBetween(random, 0, words.length - 1)]}`;
    bounds[index + 1] = text.length;
  }
  return { corpus: text, ends: bounds };
})();

/** A slice of one text made at load. */
const filler = (start: number, count: number): string => {
  let text = '';
  let from = start % corpusTokens;
  for (let left = count; left > 0; ) {
    const to = Math.min(corpusTokens, from + left);
    text += corpus.slice(ends[from], ends[to]);
    left -= to - from;
    from = 0;
  }
  return text;
};

export interface Prose {
  readonly text: string;
  readonly tokens: number;
  /** Whether it was cut at `most`. */
  readonly cut: boolean;
}

/** `length` tokens that begin with `opening`, cut at `most`; a shorter cut is a prefix of a longer one. */
export const prose = (opening: string, length: number, most: number, random: Random): Prose => {
  const start = integerBetween(random, 0, corpusTokens - 1);
  const opened = countTokens(opening);
  const tokens = Math.min(length, most);
  const cut = most < length;
  if (tokens <= opened) return { text: tokenize(opening).slice(0, tokens).join(''), tokens, cut };
  if (cut) return { text: opening + filler(start, tokens - opened), tokens, cut };
  return { text: `${opening}${filler(start, tokens - opened - 1)} end.`, tokens, cut };
};

export const firstTokens = (text: string, most: number): Prose => {
  const tokens = tokenize(text);
  if (tokens.length <= most) return { text, tokens: tokens.length, cut: false };
  return { text: tokens.slice(0, most).join(''), tokens: most, cut: true };
};

/** The first sequence to be complete, as a model that watches its output finds it. */
export const findStop = (text: string, sequences: readonly string[]): { at: number; sequence: string } | null => {
  let found: { at: number; sequence: string } | null = null;
  for (const sequence of sequences) {
    if (sequence === '') continue;
    const at = text.indexOf(sequence);
    if (at < 0) continue;
    const later = found === null ? -1 : at + sequence.length - (found.at + found.sequence.length);
    // Of two with the same end the longer one began first.
    if (found === null || later < 0 || (later === 0 && at < found.at)) found = { at, sequence };
  }
  return found;
};
