import { namesBeside } from '../../upstream/tool-names.ts';
import type { Path } from '../translation/translated.ts';
import { type FunctionTool, isSearchTool, type ResponsesTool } from './responses-schema.ts';

/** Functions of namespaces, for models that know none (contract G.7): each has one name there, which is read back. */

export interface Called {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** By the name that the model knows, where it is not the client's. */
export type CalledNames = ReadonlyMap<string, Called>;

export interface FlatTools {
  readonly tools: readonly FunctionTool[];
  /** Of each of `tools`, in the request. */
  readonly places: readonly Path[];
  readonly called: CalledNames;
  /** Also of calls in the input whose function is no longer declared. */
  readonly nameOf: (called: { readonly name: string; readonly namespace?: string | null | undefined }) => string;
}

/** Clients put functions without a namespace into it. */
const noNamespace = 'functions';

const joined = (namespace: string, name: string): string =>
  `${namespace.replace(/_+$/, '')}__${name.replace(/^_+/, '')}`;

const flatNames = (taken: Set<string>): FlatTools['nameOf'] => {
  const nameOf = namesBeside(taken);
  return ({ namespace, name }) =>
    namespace == null || namespace === noNamespace ? name : nameOf(joined(namespace, name), [namespace, name]);
};

const hasNoNamespace = (tool: ResponsesTool): boolean =>
  tool.type === 'function' || (tool.type === 'namespace' && tool.name === noNamespace);

const functionsOf = (tool: ResponsesTool): readonly FunctionTool[] => {
  if (tool.type === 'function') return [tool];
  return tool.type === 'namespace' ? tool.tools : [];
};

/** The description of a namespace stands before that of its first function. */
const described = (tool: FunctionTool, before: string | null | undefined): string | null | undefined =>
  before ? [before, tool.description].filter((text) => text).join('\n\n') : tool.description;

export const flatTools = (tools: readonly ResponsesTool[]): FlatTools => {
  const plain = tools.filter(hasNoNamespace).flatMap(functionsOf);
  const nameOf = flatNames(new Set(plain.map(({ name }) => name)));
  const flat: FunctionTool[] = [];
  const places: Path[] = [];
  const called = new Map<string, Called>();
  for (const [index, tool] of tools.entries()) {
    if (isSearchTool(tool)) continue;
    for (const [at, each] of functionsOf(tool).entries()) {
      if (tool.type === 'function') {
        flat.push(each);
        places.push(['tools', index]);
        continue;
      }
      const { name } = each;
      const known = nameOf({ namespace: tool.name, name });
      if (tool.name !== noNamespace) called.set(known, { name, namespace: tool.name });
      flat.push({ ...each, name: known, description: at === 0 ? described(each, tool.description) : each.description });
      places.push(['tools', index, 'tools', at]);
    }
  }
  return { tools: flat, places, called, nameOf };
};
