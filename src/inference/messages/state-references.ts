import { type Refusal, refusal } from '../../errors.ts';
import { bodyRefusal } from '../body-refusal.ts';
import type { PassingCount } from './passing-schema.ts';

type Path = readonly (string | number)[];

/**
 * The refusal of a request that names state which the upstream keeps for its account (contract N1): all organizations share
 * that account, so one could reach what belongs to another.
 */
export const stateRefusal = (body: PassingCount): Refusal | null => {
  if (body.thread != null) return refusal('thread_unsupported_request', { param: 'thread' });
  if (body.container != null) return refused(['container']);
  const path = fileIn(body, []);
  return path && refused(path);
};

const refused = (path: Path): Refusal =>
  bodyRefusal({
    code: 'unsupported_parameter',
    path,
    message: 'What the provider keeps cannot be named here: its account is shared.',
    input: null,
  });

/** Members whose values are the caller's own data, in which a name means nothing: of blocks, of tools and of the request. */
const ownData: ReadonlySet<string> = new Set([
  ...['input', 'text', 'data', 'thinking'],
  ...['input_schema', 'input_examples'],
  ...['schema', 'metadata'],
]);

/** Where a `file_id` is named, at any depth: tool results hold blocks, and documents hold sources. */
const fileIn = (value: unknown, path: Path): Path | null => {
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, inner] of Object.entries(value)) {
    const step = Array.isArray(value) ? Number(name) : name;
    if (name === 'file_id' && inner !== null) return [...path, step];
    const found = ownData.has(name) ? null : fileIn(inner, [...path, step]);
    if (found !== null) return found;
  }
  return null;
};
