import { jsonText } from '../../../json/exact-number.ts';
import { type Format, isJsonMode } from '../format.ts';
import type { Inexpressible } from '../port.ts';
import { type Fields, within } from '../transport/fields.ts';

/** Servers of messages want every object of a format closed. Closing must not change what the client may rely on. */

/** Where a schema cannot be closed. */
class Open {
  readonly path: readonly (string | number)[];

  constructor(path: readonly (string | number)[]) {
    this.path = path;
  }
}

/** The schema itself if it is closed. */
const closed = (schema: Fields, path: readonly (string | number)[]): Fields | Open => {
  for (const name of ['allOf', 'patternProperties']) if (schema[name] !== undefined) return new Open([...path, name]);
  const made: Record<string, unknown> = { ...schema };
  for (const name of ['properties', '$defs', 'definitions', 'anyOf', 'oneOf', 'prefixItems', 'items']) {
    const inner = closedWithin(schema[name], [...path, name], name === 'items');
    if (inner instanceof Open) return inner;
    if (inner !== undefined) made[name] = inner;
  }
  const { type, properties, required, additionalProperties } = schema;
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
  if (!isObject || additionalProperties === false) return made;
  if (additionalProperties !== undefined) return new Open([...path, 'additionalProperties']);
  const names = Object.keys(within(properties));
  const branch = ['anyOf', 'oneOf'].find((name) => saysProperties(schema[name]));
  if (names.length === 0) return new Open(path);
  if (branch !== undefined) return new Open([...path, branch]);
  // One that is not described would be forbidden.
  if (Array.isArray(required) && !required.every((name) => names.includes(name)))
    return new Open([...path, 'required']);
  return { ...made, additionalProperties: false };
};

const saysProperties = (schemas: unknown): boolean =>
  Array.isArray(schemas) && schemas.some((each) => within(each).properties !== undefined);

/** @param isSchema whether it may be one schema, and not several */
const closedWithin = (value: unknown, path: readonly (string | number)[], isSchema: boolean): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (isSchema && !Array.isArray(value)) return closed(value as Fields, path);
  const made = Object.entries(value).map(([name, each]) => {
    const place = [...path, Array.isArray(value) ? Number(name) : name];
    const isOne = typeof each === 'object' && each !== null && !Array.isArray(each);
    return [name, isOne ? closed(each as Fields, place) : each] as const;
  });
  const open = made.find(([, each]) => each instanceof Open);
  if (open !== undefined) return open[1];
  return Array.isArray(value) ? made.map(([, each]) => each) : Object.fromEntries(made);
};

/** What asks for the format: the format itself, or words where a server has no such format. */
export const askedFormat = (format: Format): { readonly format?: Format; readonly words?: string } => {
  const { type, schema, strict } = format;
  if (isJsonMode(schema)) return { words: 'Answer with one JSON object, and with nothing else.' };
  const made = closed(schema, []);
  if (!(made instanceof Open)) return { format: { type, schema: made } };
  if (strict !== false) return { format: { type, schema } };
  return { words: `Answer with JSON, and with nothing else. Its JSON Schema is: ${jsonText(schema)}` };
};

/** Only a client that says `strict: false` relies on no schema. */
export const openFormat = (format: Format | undefined): Inexpressible | null => {
  if (format === undefined || format.strict === false || isJsonMode(format.schema)) return null;
  const made = closed(format.schema, []);
  if (!(made instanceof Open)) return null;
  const message = 'The API of this model has closed objects alone, and closing this one would change what it allows.';
  return { path: ['output_config', 'format', 'schema', ...made.path], message, code: 'unsupported_parameter' };
};
