import { Kind, type Tape } from '../../json/tape/tape.ts';
import type { Model } from '../../upstream/models/models.ts';
import { type Fields, within } from '../../upstream/transport/fields.ts';
import { isPricedIn } from './priced.ts';
import { toolsIn } from './served-tools.ts';

/** What an upstream's own search tools are called, with or without a version. */
const kinds = /^(?:web|file)_search/;
/** Searches of a tool that says no number, and the most that one may say. */
const unnamed = 100;
const mostNamed = 1_000;

/** Where they have no price nobody has to count what is allowed. */
const isPriced = (model: Model): boolean => isPricedIn(model, hasPrice);

const hasPrice = ({ web_search: web, file_search: file }: Model['pricing']): boolean =>
  (web !== undefined && Number(web) > 0) || (file !== undefined && Number(file) > 0);

const bound = (named: unknown, otherwise: number): number =>
  Number.isInteger(named) && (named as number) >= 0 ? Math.min(named as number, otherwise) : otherwise;

const ofTool = ({ type, max_uses: uses }: Fields): number => {
  if (typeof type !== 'string' || !kinds.test(type)) return 0;
  return uses == null ? unnamed : bound(uses, mostNamed);
};

/** The most searches that an upstream may make for a request, by its tools and by what it says of them (contract N20). */
export const searchesAllowed = (model: Model, request: Readonly<Record<string, unknown>>): number => {
  if (!isPriced(model)) return mostNamed;
  const sum = toolsIn(request).reduce<number>((all, tool) => all + ofTool(tool), 0);
  return bound(request.max_tool_calls, sum);
};

const [tools, type, calls] = ['tools', 'type', 'max_tool_calls'].map((name) => Buffer.from(name)) as [
  Buffer,
  Buffer,
  Buffer,
];

/** The same of a scanned request, whose items bring none. */
export const searchesAllowedOnTape = (model: Model, tape: Tape): number => {
  if (!isPriced(model)) return mostNamed;
  const [list, most] = [tape.member(0, tools), tape.member(0, calls)];
  if (list === -1 || tape.kind(list) !== Kind.array) return 0;
  let sum = 0;
  for (let at = list + 1; at < tape.next(list); at = tape.next(at)) {
    const kind = tape.kind(at) === Kind.object ? tape.member(at, type) : -1;
    const name = kind === -1 ? null : tape.value(kind);
    if (typeof name === 'string' && kinds.test(name)) sum += ofTool(within(tape.value(at)));
  }
  return bound(most === -1 ? undefined : tape.value(most), sum);
};
