import { InvalidArgumentError } from 'commander';
import { inCatalogueOrder } from '../domain/permissions.ts';

/** Parsers of option values. @throws InvalidArgumentError */

export const oneOf =
  <T extends string>(all: Iterable<T>) =>
  (text: string): T => {
    const known = [...all];
    const found = known.find((each) => each === text);
    if (found === undefined) throw new InvalidArgumentError(`Give one of ${known.join(', ')}.`);
    return found;
  };

export const several =
  <T>(parse: (text: string) => T) =>
  (text: string, before: readonly T[] = []): readonly T[] => [...before, parse(text)];

export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number >= least && number <= most)) throw new InvalidArgumentError(`Give a number from ${least} to ${most}.`);
    return number;
  };

/** Parses a list of permissions, in the order of `known`. @param why explains an unknown one */
export const permissionList =
  <P extends string>(known: readonly P[], why: (unknown: string) => string = () => '') =>
  (text: string): readonly P[] => {
    const wanted = text.split(/[\s,]+/).filter((permission) => permission !== '');
    const unknown = wanted.find((permission) => !(known as readonly string[]).includes(permission));
    if (unknown !== undefined || wanted.length === 0)
      throw new InvalidArgumentError(`${why(unknown ?? '')}Give some of ${known.join(', ')}.`);
    return inCatalogueOrder(known, wanted);
  };
