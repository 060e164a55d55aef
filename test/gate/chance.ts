import type { FileResult } from './report.ts';

/** A path with one of these words is of a room where a wrong value is a fault, however rarely it shows. */
const strictWords = [
  ...['access', 'credential', 'permission', 'matrix'],
  ...['limit', 'window'],
  ...['account', 'usage', 'billing', 'charge', 'credit', 'price', 'reservation', 'spend'],
  ...['policy', 'policies', 'rule'],
  ...['audit', 'merkle'],
  ...['contract', 'plane', 'torture', 'kill', 'killed', 'race'],
];
const strict = new RegExp(`[/-](${strictWords.join('|')})s?(?=[/.-])`);

/** Whether only a timeout can be chance in this file: its folder or its name has one of the words. */
const isStrict = (path: string): boolean => strict.test(path);

/** A failed file whose failure may be chance is looked at again. */
export const mayBeChance = ({ path, troubles }: Pick<FileResult, 'path' | 'troubles'>): boolean =>
  !isStrict(path) || (troubles.length > 0 && troubles.every(({ isTimeout }) => isTimeout));
