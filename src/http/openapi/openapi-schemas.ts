import { isJson, type Json } from './components.ts';

/** A text, or each text of a list, has no NUL (contract A.2), unless its own pattern or enumeration says so. */
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
    properties: {
      error_code: text,
      policy_id: text,
      version: { type: 'integer', minimum: 1, format: 'int64' },
      scope: { enum: ['key', 'project', 'organization'] },
      limit: { type: 'number' },
      limit_remaining: { type: 'number' },
      limit_resets_at: { type: ['integer', 'null'], format: 'int64' },
    },
  },
});

const detail = {
  type: 'array',
  items: object({ loc: { type: 'array', items: text }, msg: text, type: text, input: {}, ctx: { type: 'object' } }),
};

/** The envelopes of contract E.1. */
export const errorSchemas: Readonly<Record<string, Json>> = {
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
