import { z } from 'zod';

export type Json = { readonly [key: string]: unknown };

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The greatest number that generators of clients keep in 32 bits. */
const mostOf32Bits = 2 ** 31 - 1;

const pascal = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

/** Members of an object by which one alternative is told from the others. */
const tags = ['type', 'role', 'object'];

/** What an alternative is called behind the name of the choice: by what tells it from the others, else by its place. */
const endingOf = (alternative: unknown, at: number): string => {
  if (!isJson(alternative) || !isJson(alternative.properties)) return '';
  for (const tag of tags) {
    const member = alternative.properties[tag];
    if (isJson(member) && typeof member.const === 'string') return pascal(member.const);
  }
  return String(at + 1);
};

const isNull = (schema: unknown): boolean => isJson(schema) && schema.type === 'null';

/** A truth value that is always the same, by the other one: generators make an enumeration of it that does not compile. */
const withoutConstant = (schema: Json): Json => {
  const { const: constant, enum: values = [constant], ...rest } = schema;
  const [first, ...others] = values as readonly unknown[];
  if (typeof first !== 'boolean' || others.some((other) => other !== null)) return schema;
  return { ...rest, type: others.length > 0 ? ['boolean', 'null'] : 'boolean', not: { const: !first } };
};

/** A member that can only be null: of the type some generators make a class that is nowhere. */
const asMember = (schema: Json): Json => {
  const { type, ...rest } = schema;
  return type === 'null' ? { const: null, ...rest } : schema;
};

/** Whether generators make a class of it: an object with members, or a choice of more than null and something. */
const isClass = ({ type, properties, anyOf, oneOf }: Json): boolean => {
  if (type === 'object') return isJson(properties) && Object.keys(properties).length > 0;
  const choice = (anyOf ?? oneOf ?? []) as readonly unknown[];
  return type === undefined && choice.filter((alternative) => !isNull(alternative)).length > 1;
};

/** What zod writes, as clients and their generators are to read it. */
const worded = (schema: Json, io: 'input' | 'output'): Json => {
  const made: Record<string, unknown> = { ...withoutConstant(schema) };
  const { type, anyOf, properties, additionalProperties: others } = made;
  if (isJson(properties)) {
    made.properties = Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, asMember(each as Json)]),
    );
  }
  // Answers gain members over time (contract A.6), so what zod says of its own output is not said to clients.
  if (io === 'output' && others === false) delete made.additionalProperties;
  // Of this word, which says the same here, generators make nothing; of the other a type to which no object belongs.
  if (isNull(others)) {
    delete made.additionalProperties;
    made.unevaluatedProperties = others;
  }
  // A number or truth value of the query is digits or a word on the wire; the pattern is of those.
  if (type === 'integer' || type === 'boolean') delete made.pattern;
  if (type === 'integer' && !(Number(made.maximum) <= mostOf32Bits)) made.format = 'int64';
  // Bounds of an object, which generators would take for a choice between types.
  if (type !== undefined && anyOf !== undefined && made.not === undefined) {
    delete made.anyOf;
    made.not = { not: { anyOf } };
  }
  return made;
};

/**
 * The named schemas of the document. zod writes definitions and references relative to the schema it converts; inside a larger
 * document they move to `components`. So does every object and every choice inside of them: a generator makes a class of each and
 * calls it after its member, `System` or `Error`, where it has no name of its own.
 */
export class Components {
  readonly schemas: Record<string, unknown> = {};
  /** The names of those that were given one here, by what they say. */
  readonly #named = new Map<string, string>();

  /**
   * @param name of the schema, where it has none of its own (`meta({ id })`) and is an object or a choice
   * @param sent what the way in which it is sent makes of it
   */
  embed(schema: z.ZodType, io: 'input' | 'output', name: string, sent = (read: Json): Json => read): Json {
    return this.#place(sent(this.#read(schema, io, name)), name);
  }

  /** The members of an object, each as it is written in place. */
  members(schema: z.ZodType, name: string): { readonly properties?: Json; readonly required?: readonly string[] } {
    return this.#read(schema, 'input', name);
  }

  /** Names what is inside of a schema that was written by hand. */
  declare(name: string, schema: Json): void {
    this.#add(name, this.#inside(schema, name));
  }

  /** As zod has it, its own definitions moved away. */
  #read(schema: z.ZodType, io: 'input' | 'output', name: string): Json {
    const { $schema: _, $defs = {}, ...whole } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
    const label = (key: string): string => {
      if (key.startsWith('__')) return `${name}${key.replaceAll('_', '')}`;
      // The same schema reads differently as a request and as an answer: defaults are optional in one only.
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
          // zod leaves the default of a value out that is read from a text.
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

  /** The schema, or where it is a class a reference to it. */
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

  /** The schema with what is inside of it in its place. */
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
