import { Refused } from '../../../http/refused.ts';
import { parseJson, type ValueBudget } from '../../../http/request/json.ts';
import type { Block, Path, TranslationFault } from './translated.ts';

/** Arguments are JSON text by the rules of bodies; numbers keep their digits (contract A.3). */
export const inputOf = (text: string, path: Path, budget: ValueBudget): Block | TranslationFault => {
  if (text === '') return {};
  const wrapped = parseJson(Buffer.from(`{"input":${text}}`), budget);
  if (wrapped instanceof Refused) {
    const { code, message } = wrapped.refusal;
    const said = message
      .replace('The request body has more than', 'With this JSON the request has more than')
      .replace('The request body', 'This JSON');
    return { path, message: said, ...(code === 'request_too_complex' && { code }) };
  }
  const { input } = wrapped;
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (isObject && Object.keys(wrapped).length === 1) return input as Block;
  return { path, message: 'Must be a JSON object.' };
};

const dataUrl = /^data:([^;,]{1,100});base64,/;

/** A data URL by its media type; all else is an address. */
export const sourceOf = (url: string): Block => {
  const head = dataUrl.exec(url);
  if (head === null) return { type: 'url', url };
  return { type: 'base64', media_type: head[1]!.toLowerCase(), data: url.slice(head[0].length) };
};

export const documentOf = (url: string, name: string | null | undefined): Block => ({
  type: 'document',
  source: sourceOf(url),
  ...(name != null && { title: name }),
});

export interface DeclaredFunction {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | null | undefined;
  readonly strict?: boolean | null | undefined;
}

export const toolOf = ({ name, description, parameters, strict }: DeclaredFunction): Block => ({
  name,
  description,
  // A schema is optional without parameters.
  input_schema: parameters == null || Object.keys(parameters).length === 0 ? { type: 'object' } : parameters,
  ...(strict != null && { strict }),
});

interface Choosing {
  /** `none`, `auto`, `required`, or a function. */
  readonly choice: string | { readonly name: string } | null | undefined;
  readonly parallel: boolean | null | undefined;
  readonly tools: readonly unknown[] | null | undefined;
}

export const toolChoiceOf = ({ choice, parallel, tools }: Choosing): Block | null => {
  const isOnce = parallel === false && tools != null && tools.length > 0;
  const once = isOnce ? { disable_parallel_tool_use: true } : {};
  if (choice == null) return isOnce ? { type: 'auto', ...once } : null;
  if (typeof choice !== 'string') return { type: 'tool', name: choice.name, ...once };
  if (choice === 'none') return { type: 'none' };
  return { type: choice === 'required' ? 'any' : 'auto', ...once };
};

interface SchemaFormat {
  readonly schema: unknown;
  readonly strict?: boolean | null | undefined;
}

/** @param format that has a schema, if it is one */
export const formatOf = (type: string | undefined, format: SchemaFormat | undefined): Block | null => {
  if (type === undefined || type === 'text') return null;
  if (format === undefined) return { type: 'json_schema', schema: { type: 'object' } };
  const { schema, strict } = format;
  return { type: 'json_schema', schema, ...(strict != null && { strict }) };
};

export const thinkingOf = (effort: string | null | undefined): Block | null =>
  effort == null ? null : { type: effort === 'none' ? 'disabled' : 'adaptive' };

export const effortOf = (effort: string | null | undefined): string | null => {
  if (effort == null || effort === 'none') return null;
  return effort === 'minimal' ? 'low' : effort;
};
