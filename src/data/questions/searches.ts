import { type Document, Kind } from '../../json/document.ts';
import { named } from '../../json/names.ts';
import type { Model } from '../upstream/models/models.ts';
import type { WebSearch } from '../upstream/web-search.ts';
import { isPricedIn } from './priced.ts';

const { type, max_uses: uses } = named('type', 'max_uses');
/** With or without a version. */
const kinds = /^(?:web|file)_search/;
/** The default of a tool, and the most that it may allow. */
const unnamed = 100;
export const mostSearches = 1_000;

/** Otherwise nothing is counted. */
export const pricesSearches = (model: Model): boolean => isPricedIn(model, hasPrice);

const hasPrice = ({ web_search: web, file_search: file }: Model['pricing']): boolean =>
  (web !== undefined && Number(web) > 0) || (file !== undefined && Number(file) > 0);

/** By a number that the request names, if it does. */
export const boundedBy = (tape: Document, entry: number, otherwise: number): number => {
  const bound = tape.number(entry) ?? -1;
  return Number.isInteger(bound) && bound >= 0 ? Math.min(bound, otherwise) : otherwise;
};

/** That a translated request allows (contract M.4). */
export const searchesBy = (model: Model, { max_uses: bound = unnamed }: WebSearch): number =>
  pricesSearches(model) ? Math.min(bound, mostSearches) : mostSearches;

/** That a tool allows (contract M.4). @param isBounded whether the API has a bound for one tool */
export const searchesOf = (tape: Document, tool: number, isBounded: boolean): number => {
  const tag = tape.member(tool, type);
  if (!tape.is(tag, Kind.string) || !kinds.test(tape.text(tag))) return 0;
  const bound = isBounded ? tape.member(tool, uses) : -1;
  return tape.isGiven(bound) ? boundedBy(tape, bound, mostSearches) : unnamed;
};
