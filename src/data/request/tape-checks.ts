import { type Document, Kind } from '../../json/document.ts';
import { foldings } from './spelling.ts';

/** A schema's check on the tape, without making values. */
export type Check = (tape: Document, entry: number) => boolean;

export const isOf =
  (...kinds: readonly number[]): Check =>
  (tape, entry) =>
    kinds.includes(tape.kind(entry));

export const isNull = isOf(Kind.null);
export const isString = isOf(Kind.string);
export const isObject = isOf(Kind.object);
export const orNull =
  (check: Check): Check =>
  (tape, entry) =>
    isNull(tape, entry) || check(tape, entry);

export const isListOf =
  (check: Check): Check =>
  (tape, entry) => {
    if (tape.kind(entry) !== Kind.array) return false;
    for (let at = entry + 1; at < tape.next(entry); at = tape.next(at)) if (!check(tape, at)) return false;
    return true;
  };

/** The length separates most of them. */
const byLength = <T extends { readonly name: Buffer }>(named: readonly T[]): readonly (readonly T[] | undefined)[] => {
  const longest = Math.max(0, ...named.map(({ name }) => name.length));
  return Array.from({ length: longest + 1 }, (_, length) => {
    const same = named.filter(({ name }) => name.length === length);
    return same.length === 0 ? undefined : same;
  });
};

export const isObjectWith = (members: Readonly<Record<string, Check>>): Check => {
  const checks = byLength(Object.entries(members).map(([name, check]) => ({ name: Buffer.from(name), check })));
  return (tape, entry) => {
    if (tape.kind(entry) !== Kind.object) return false;
    const end = tape.next(entry);
    for (let at = entry + 1; at < end; at = tape.next(at + 1)) {
      const own = checks[tape.end(at) - tape.start(at)]?.find(({ name }) => tape.spells(at, name));
      if (own !== undefined && !own.check(tape, at + 1)) return false;
    }
    return true;
  };
};

export const isWhole =
  (least: number, most: number): Check =>
  (tape, entry) => {
    const value = tape.kind(entry) === Kind.number ? tape.value(entry) : Number.NaN;
    return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
  };

/** At any depth, or a spelling of it (`folded`). */
export const namesAny = (names: readonly string[]): ((tape: Document) => boolean) => {
  const named = byLength(names.flatMap(foldings).map((name) => ({ name: Buffer.from(name) })));
  return (tape) => {
    const end = tape.next(0);
    for (let at = 1; at < end; at++) {
      if (tape.kind(at) !== Kind.name) continue;
      if (named[tape.end(at) - tape.start(at)]?.some(({ name }) => tape.resembles(at, name))) return true;
    }
    return false;
  };
};
