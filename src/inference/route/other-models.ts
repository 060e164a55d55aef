import type { Refusal } from '../../errors.ts';
import { Kind, type Tape } from '../../json/tape/tape.ts';
import { within } from '../../upstream/transport/fields.ts';
import { bodyRefusal } from '../body-refusal.ts';
import { folded } from './spelling.ts';
import { namesAny } from './tape-checks.ts';

/** Members by which upstreams are told to ask other models where the one that is named fails. */
const ways = ['fallbacks', 'models', 'context_window_fallbacks', 'content_policy_fallbacks'];

const model = Buffer.from('model');
const namesWay = namesAny(ways);

/** Whether a scanned request may name another model than its own, so that it has to be parsed. */
export const mayNameOthers = (tape: Tape): boolean => {
  let named = 0;
  for (let at = 1; at < tape.next(0); at++) if (tape.kind(at) === Kind.name && tape.resembles(at, model)) named += 1;
  return named > 1 || namesWay(tape);
};

/** The name of a member as it is written, where it has a value. */
const memberOf = (fields: object, names: readonly string[]): string | undefined =>
  Object.entries(fields).find(([name, value]) => value != null && names.includes(folded(name)))?.[0];

/** Where a request lists tools; items of responses bring more of them. */
const toolsAt = (
  body: Readonly<Record<string, unknown>>,
): (readonly [path: readonly (string | number)[], unknown])[] => {
  const brought = Array.isArray(body.input)
    ? body.input.map((item, i) => [['input', i, 'tools'], within(item).tools] as const)
    : [];
  return [[['tools'], body.tools], ...brought];
};

/**
 * The refusal of a request to a passing model that names other models beside its own: as a way out, or as that of a tool which
 * the upstream runs. A project that may use certain models would reach all those of its upstream (contract N11).
 */
export const otherModelsRefusal = (body: Readonly<Record<string, unknown>>): Refusal | null => {
  const way = memberOf(body, ways);
  if (way !== undefined) return refused([way]);
  for (const [path, tools] of toolsAt(body)) {
    if (!Array.isArray(tools)) continue;
    for (const [i, tool] of tools.entries()) {
      const name = memberOf(within(tool), ['model']);
      if (name !== undefined) return refused([...path, i, name]);
    }
  }
  return null;
};

const refused = (path: readonly (string | number)[]): Refusal =>
  bodyRefusal({
    code: 'unsupported_parameter',
    path,
    message: 'The project may use certain models alone, and this names others.',
    input: null,
  });
