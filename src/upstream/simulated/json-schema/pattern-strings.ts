import { integerBetween, type Random } from '../../seed.ts';
import type { Pattern, Range } from './pattern.ts';
import type { Scope } from './schema.ts';

/** How often a length outside the bounds is tried again. */
const attempts = 24;

/** A string that matches the pattern, of `least` to `most` code points; undefined if none was found. */
export const stringFor = (pattern: Pattern, least: number, most: number, scope: Scope): string | undefined => {
  let extra = 0;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const text = write(pattern, attempt < 2 ? extra : integerBetween(scope.random, 0, extra), scope);
    const length = Array.from(text).length;
    if (length >= least && length <= most && matches(pattern, text, scope)) return text;
    extra = length < least ? extra + least - length : Math.floor(extra / 2);
  }
  return undefined;
};

/** A string of the pattern; what may repeat without end does so up to `extra` times more than it must. */
const write = (pattern: Pattern, extra: number, scope: Scope): string => {
  scope.spend();
  switch (pattern.kind) {
    case 'start':
    case 'end':
      return '';
    case 'chars':
      return String.fromCodePoint(pick(pattern.ranges, pattern.negated, scope.random));
    case 'sequence':
      return pattern.parts.map((part) => write(part, extra, scope)).join('');
    case 'choice':
      return write(pattern.options[integerBetween(scope.random, 0, pattern.options.length - 1)]!, extra, scope);
    case 'repeat': {
      const { part, least, most } = pattern;
      const times = Math.min(most, least + (extra > 0 ? extra : integerBetween(scope.random, 0, 2)));
      let text = '';
      for (let index = 0; index < times; index += 1) text += write(part, 0, scope);
      return text;
    }
  }
};

/** Letters and digits first, so that made-up strings can be read. */
const preferred: readonly Range[] = [
  [97, 122],
  [48, 57],
  [65, 90],
  [33, 126],
  [32, 32],
];

const pick = (ranges: readonly Range[], negated: boolean, random: Random): number => {
  for (const [low, high] of preferred) {
    const start = integerBetween(random, 0, high - low);
    for (let offset = 0; offset <= high - low; offset += 1) {
      const code = low + ((start + offset) % (high - low + 1));
      if (inRanges(ranges, code) !== negated) return code;
    }
  }
  if (!negated) {
    const [low, high] = ranges[0] ?? [0xfffd, 0xfffd];
    return integerBetween(random, low, Math.min(high, low + 64));
  }
  for (let code = 0xa1; code < 0xd800; code += 1) if (!inRanges(ranges, code)) return code;
  return 0xfffd;
};

const inRanges = (ranges: readonly Range[], code: number): boolean =>
  ranges.some(([low, high]) => code >= low && code <= high);

/** Whether the pattern is found anywhere in the text. It follows all positions at once and never goes back. */
export const matches = (pattern: Pattern, text: string, scope: Scope): boolean => {
  const codes = Array.from(text, (point) => point.codePointAt(0)!);
  const everywhere = new Set(Array.from({ length: codes.length + 1 }, (_, index) => index));
  return advance(pattern, everywhere, codes, scope).size > 0;
};

type Positions = ReadonlySet<number>;

const advance = (pattern: Pattern, from: Positions, codes: readonly number[], scope: Scope): Positions => {
  scope.spend(from.size);
  switch (pattern.kind) {
    case 'start':
      return from.has(0) ? new Set([0]) : new Set();
    case 'end':
      return from.has(codes.length) ? new Set([codes.length]) : new Set();
    case 'chars': {
      const to = new Set<number>();
      for (const at of from) {
        const code = codes[at];
        if (code !== undefined && inRanges(pattern.ranges, code) !== pattern.negated) to.add(at + 1);
      }
      return to;
    }
    case 'sequence':
      return pattern.parts.reduce((positions, part) => advance(part, positions, codes, scope), from);
    case 'choice':
      return new Set(pattern.options.flatMap((option) => [...advance(option, from, codes, scope)]));
    case 'repeat':
      return repeat(pattern.part, pattern.least, pattern.most, from, codes, scope);
  }
};

const repeat = (
  part: Pattern,
  least: number,
  most: number,
  from: Positions,
  codes: readonly number[],
  scope: Scope,
): Positions => {
  let positions = from;
  for (let times = 0; times < least && positions.size > 0; times += 1)
    positions = advance(part, positions, codes, scope);
  const reached = new Set(positions);
  for (let times = least; times < most && positions.size > 0; times += 1) {
    const fresh = new Set([...advance(part, positions, codes, scope)].filter((at) => !reached.has(at)));
    for (const at of fresh) reached.add(at);
    positions = fresh;
  }
  return reached;
};
