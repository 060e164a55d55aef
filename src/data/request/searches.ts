import type { Metered } from '../../http/route.ts';
import { type Document, Kind } from '../../json/document.ts';
import type { Model } from '../upstream/models/models.ts';
import { type Fields, within } from '../upstream/transport/fields.ts';
import { isPricedIn } from './priced.ts';
import { toolsIn } from './served-tools.ts';

type Api = Metered['api'];

/** With or without a version. */
const kinds = /^(?:web|file)_search/;
/** The default of a tool, and the most that it may allow. */
const unnamed = 100;
const mostNamed = 1_000;

/** Otherwise nothing is counted. */
const isPriced = (model: Model): boolean => isPricedIn(model, hasPrice);

const hasPrice = ({ web_search: web, file_search: file }: Model['pricing']): boolean =>
  (web !== undefined && Number(web) > 0) || (file !== undefined && Number(file) > 0);

const bound = (named: unknown, otherwise: number): number =>
  Number.isInteger(named) && (named as number) >= 0 ? Math.min(named as number, otherwise) : otherwise;

const ofTool = ({ type, max_uses: uses }: Fields, api: Api): number => {
  if (typeof type !== 'string' || !kinds.test(type)) return 0;
  return uses == null || api !== 'messages' ? unnamed : bound(uses, mostNamed);
};

/** By its tools and by API parameters (contract M.4). */
export const searchesAllowed = (model: Model, api: Api, request: Readonly<Record<string, unknown>>): number => {
  if (!isPriced(model)) return mostNamed;
  const isResponse = api === 'responses';
  const all = toolsIn(isResponse ? request : { tools: request.tools });
  const sum = all.reduce<number>((known, tool) => known + ofTool(tool, api), 0);
  return isResponse ? bound(request.max_tool_calls, sum) : sum;
};

const [tools, type, calls] = ['tools', 'type', 'max_tool_calls'].map((name) => Buffer.from(name)) as [
  Buffer,
  Buffer,
  Buffer,
];

export const searchesAllowedOnTape = (model: Model, api: Api, tape: Document): number => {
  if (!isPriced(model)) return mostNamed;
  const [list, most] = [tape.member(0, tools), tape.member(0, calls)];
  if (list === -1 || tape.kind(list) !== Kind.array) return 0;
  let sum = 0;
  for (let at = list + 1; at < tape.next(list); at = tape.next(at)) {
    const kind = tape.kind(at) === Kind.object ? tape.member(at, type) : -1;
    const name = kind === -1 ? null : tape.value(kind);
    if (typeof name === 'string' && kinds.test(name)) sum += ofTool(within(tape.value(at)), api);
  }
  return most === -1 || api !== 'responses' ? sum : bound(tape.value(most), sum);
};
