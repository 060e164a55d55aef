import { z } from 'zod';

export type Json = { readonly [key: string]: unknown };

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The named schemas of the document. zod writes definitions and references relative to the schema it converts; inside a
 * larger document they must move to `components` and be pointed at there.
 */
export class Components {
  readonly schemas: Record<string, unknown> = {};

  /** @param name stands for the schema where it has to be named, which is where it refers to itself */
  embed(schema: z.ZodType, io: 'input' | 'output', name: string): Json {
    const { $schema: _, $defs, ...whole } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
    const names = new Map<string, string>();
    for (const key of Object.keys($defs ?? {})) {
      // The same schema reads differently as a request and as an answer: defaults are optional in one only.
      const label = io === 'input' ? `${key}Input` : key;
      names.set(`#/$defs/${key}`, key.startsWith('__') ? `${name}${key}` : label);
    }
    let refersToItself = false;
    const move = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(move);
      if (!isJson(value)) return value;
      const moved: Record<string, unknown> = {};
      for (const [key, inner] of Object.entries(value)) {
        if (key === '$ref' && typeof inner === 'string') {
          if (inner === '#') refersToItself = true;
          moved[key] = `#/components/schemas/${inner === '#' ? name : (names.get(inner) ?? inner)}`;
        } else if (key === 'defaultOnTheWire') {
          // zod leaves the default of a value out that is read from a text.
          moved.default = inner;
        } else {
          moved[key] = move(inner);
        }
      }
      // Answers gain members over time (contract A.6), so what zod says of its own output is not said to clients.
      if (io === 'output' && moved.additionalProperties === false) delete moved.additionalProperties;
      // A number or truth value of the query is digits or a word on the wire; the pattern is of those.
      if (moved.type === 'integer' || moved.type === 'boolean') delete moved.pattern;
      return moved;
    };
    for (const [key, definition] of Object.entries($defs ?? {}))
      this.add(names.get(`#/$defs/${key}`)!, move(definition));
    const moved = move(whole) as Json;
    if (!refersToItself) return moved;
    this.add(name, moved);
    return { $ref: `#/components/schemas/${name}` };
  }

  private add(name: string, schema: unknown): void {
    const held = this.schemas[name];
    if (held !== undefined && JSON.stringify(held) !== JSON.stringify(schema)) {
      throw new Error(`Two different schemas of the OpenAPI document are called ${name}.`);
    }
    this.schemas[name] = schema;
  }
}

/**
 * A value that is percent-encoded on its way: its text, or each text of a list, has no NUL (contract A.2). A pattern or
 * an enumeration of its own says as much already.
 */
export const percentEncoded = (schema: Json): Json => {
  if (isJson(schema.items)) return { ...schema, items: percentEncoded(schema.items) };
  return schema.type === 'string' && !schema.pattern && !schema.enum ? { ...schema, pattern: '^[^\\u0000]*$' } : schema;
};

/** `percentEncoded` of every member of a form. */
export const formEncoded = (schema: Json): Json => {
  const members = Object.entries(schema.properties as Json).map(([name, member]) => [
    name,
    percentEncoded(member as Json),
  ]);
  return { ...schema, properties: Object.fromEntries(members) };
};

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const object = (properties: Json): Json => ({ type: 'object', properties, required: Object.keys(properties) });

const adminTypes = [
  'auth_error',
  'permission_error',
  'validation_error',
  'rate_limit_error',
  'billing_error',
  'moderation_error',
  'policy_error',
  'media_error',
  'not_found_error',
  'conflict_error',
  'provider_error',
  'internal_error',
];

const errorDetail = object({
  code: { ...text, description: 'Stable, machine-readable.' },
  message: { ...text, maxLength: 500 },
  type: { ...text, enum: adminTypes },
  param: textOrNull,
  request_id: text,
  doc_url: textOrNull,
});

const messagesError = object({
  type: text,
  message: text,
  code: text,
  param: textOrNull,
  details: {
    ...object({ error_code: text }),
    properties: { error_code: text, policy_id: text, version: { type: 'integer', minimum: 1 } },
  },
});

const detail = {
  type: 'array',
  items: object({ loc: { type: 'array', items: text }, msg: text, type: text, input: {}, ctx: { type: 'object' } }),
};

/** The envelopes of contract E.1. */
export const errorSchemas: Json = {
  AdminError: object({ error: errorDetail }),
  ModelsValidationError: object({ detail, error: errorDetail }),
  MessagesError: object({ type: { const: 'error' }, error: messagesError, request_id: text }),
  MessagesValidationError: object({ detail, type: { const: 'error' }, error: messagesError, request_id: text }),
  MessagesRateLimitError: object({
    type: { const: 'error' },
    error: object({ type: { const: 'rate_limit_error' }, message: text }),
    request_id: text,
  }),
  OAuthError: object({ error: text, error_description: text }),
  ChatError: object({ error: object({ message: text, type: text, param: textOrNull, code: text }) }),
};
