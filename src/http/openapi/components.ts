import { z } from 'zod';

export type Json = { readonly [key: string]: unknown };

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Client generators keep up to it in 32 bits. */
const mostOf32Bits = 2 ** 31 - 1;

const pascal = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

const tags = ['type', 'role', 'object'];

/** From its distinguishing tag, else its index. */
const endingOf = (alternative: unknown, at: number): string => {
  if (!isJson(alternative) || !isJson(alternative.properties)) return '';
  for (const tag of tags) {
    const member = alternative.properties[tag];
    if (isJson(member) && typeof member.const === 'string') return pascal(member.const);
  }
  return String(at + 1);
};

const isNull = (schema: unknown): boolean => isJson(schema) && schema.type === 'null';

/** As the negation of its opposite: generators make an uncompilable enumeration of a boolean constant. */
const withoutConstant = (schema: Json): Json => {
  const { const: constant, enum: values = [constant], ...rest } = schema;
  const [first, ...others] = values as readonly unknown[];
  if (typeof first !== 'boolean' || others.some((other) => other !== null)) return schema;
  return { ...rest, type: others.length > 0 ? ['boolean', 'null'] : 'boolean', not: { const: !first } };
};

/** Without a type: some generators refer to a class that does not exist. */
const asMember = (schema: Json): Json => {
  const { type, ...rest } = schema;
  return type === 'null' ? { const: null, ...rest } : schema;
};

/** An object with members, or a union beyond null. */
const isClass = ({ type, properties, anyOf, oneOf }: Json): boolean => {
  if (type === 'object') return isJson(properties) && Object.keys(properties).length > 0;
  const choice = (anyOf ?? oneOf ?? []) as readonly unknown[];
  return type === undefined && choice.filter((alternative) => !isNull(alternative)).length > 1;
};

const worded = (schema: Json, io: 'input' | 'output'): Json => {
  const made: Record<string, unknown> = { ...withoutConstant(schema) };
  const { type, anyOf, properties, additionalProperties: others } = made;
  if (isJson(properties)) {
    made.properties = Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, asMember(each as Json)]),
    );
  }
  // Answers may gain members (contract A.6), so the output is not closed.
  if (io === 'output' && others === false) delete made.additionalProperties;
  // An equivalent keyword that generators ignore; of the other they make an empty type.
  if (isNull(others)) {
    delete made.additionalProperties;
    made.unevaluatedProperties = others;
  }
  // The pattern describes the digits or word on the wire.
  if (type === 'integer' || type === 'boolean') delete made.pattern;
  if (type === 'integer' && !(Number(made.maximum) <= mostOf32Bits)) made.format = 'int64';
  // Generators would take these bounds for a union.
  if (type !== undefined && anyOf !== undefined && made.not === undefined) {
    delete made.anyOf;
    made.not = { not: { anyOf } };
  }
  return made;
};

/**
 * The named schemas. zod's definitions are relative to the converted schema and move to `components`; so do all inner
 * objects and unions, because generators name unnamed ones after members, such as `System` or `Error`.
 */
export class Components {
  readonly schemas: Record<string, unknown> = {};
  /** Names given here, by content. */
  readonly #named = new Map<string, string>();

  /** @param name for an object or union without its own (`meta({ id })`). @param sent adapts it to its encoding */
  embed(schema: z.ZodType, io: 'input' | 'output', name: string, sent = (read: Json): Json => read): Json {
    return this.#place(sent(this.#read(schema, io, name)), name);
  }

  /** Inline. */
  members(schema: z.ZodType, name: string): { readonly properties?: Json; readonly required?: readonly string[] } {
    return this.#read(schema, 'input', name);
  }

  declare(name: string, schema: Json): void {
    this.#add(name, this.#inside(schema, name));
  }

  /** As zod writes it, its definitions moved away. */
  #read(schema: z.ZodType, io: 'input' | 'output', name: string): Json {
    const { $schema: _, $defs = {}, ...whole } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
    const label = (key: string): string => {
      if (key.startsWith('__')) return `${name}${key.replaceAll('_', '')}`;
      // Requests and answers differ: defaults are optional only in requests.
      return io === 'input' && !key.endsWith('Request') ? `${key}Input` : key;
    };
    let refersToItself = false;
    const move = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(move);
      if (!isJson(value)) return value;
      const moved: Record<string, unknown> = {};
      for (const [key, inner] of Object.entries(value)) {
        if (key === '$ref' && typeof inner === 'string') {
          if (inner === '#') refersToItself = true;
          const target = inner === '#' ? name : label(inner.replace('#/$defs/', ''));
          moved[key] = `#/components/schemas/${target}`;
        } else if (key === 'defaultOnTheWire') {
          // zod omits the default of a value parsed from text.
          moved.default = inner;
        } else {
          moved[key] = move(inner);
        }
      }
      return worded(moved, io);
    };
    for (const [key, definition] of Object.entries($defs))
      this.#add(label(key), this.#inside(move(definition) as Json, label(key)));
    const moved = move(whole) as Json;
    if (refersToItself) this.#add(name, this.#inside(moved, name));
    return refersToItself ? { $ref: `#/components/schemas/${name}` } : moved;
  }

  #place(schema: Json, name: string): Json {
    const inside = this.#inside(schema, name);
    if (!isClass(inside)) return inside;
    const text = JSON.stringify(inside);
    let known = this.#named.get(text);
    if (known === undefined) {
      known = name;
      for (let n = 2; known in this.schemas; n++) known = `${name}${n}`;
      this.#named.set(text, known);
      this.#add(known, inside);
    }
    return { $ref: `#/components/schemas/${known}` };
  }

  #inside(schema: Json, name: string): Json {
    const made: Record<string, unknown> = { ...schema };
    const { properties, items, additionalProperties: others } = schema;
    if (isJson(properties)) {
      const placed = Object.entries(properties).map(([member, inner]) => [
        member,
        this.#place(inner as Json, `${name}${pascal(member)}`),
      ]);
      made.properties = Object.fromEntries(placed);
    }
    if (isJson(items)) made.items = this.#place(items, `${name}Item`);
    if (isJson(others)) made.additionalProperties = this.#place(others, `${name}Value`);
    for (const choice of ['anyOf', 'oneOf']) {
      const alternatives = schema[choice];
      if (!Array.isArray(alternatives)) continue;
      const isOne = alternatives.filter((each) => !isNull(each)).length === 1;
      made[choice] = alternatives.map((each, at) => this.#place(each, isOne ? name : `${name}${endingOf(each, at)}`));
    }
    return made;
  }

  #add(name: string, schema: unknown): void {
    const held = this.schemas[name];
    if (held !== undefined && JSON.stringify(held) !== JSON.stringify(schema)) {
      throw new Error(`Two different schemas of the OpenAPI document are called ${name}.`);
    }
    this.schemas[name] = schema;
  }
}
