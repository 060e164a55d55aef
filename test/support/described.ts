import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { familyOf } from '../../src/http/error-envelopes.ts';
import { router } from '../../src/http/routing/router.ts';

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}
export interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response>>;
}
/** What of an OpenAPI document the tests read. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** One answer as a client sees it; the body is what its JSON says, undefined where there is none. */
export interface Seen {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  readonly media: string;
  readonly body: unknown;
}

const envelopes = {
  admin: 'AdminError',
  messages: 'MessagesError',
  chat: 'ChatError',
  oauth: 'OAuthError',
  models: 'AdminError',
};

/** Holds answers against an OpenAPI document: the status must be there, with this media type, and the body as it says. */
export const describedBy = (document: Document): ((seen: Seen) => void) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  ajv.addSchema(document, 'weir');
  const pointer = (parts: readonly string[]): string =>
    parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const compiled = new Map<string, ValidateFunction>();
  const schemaAt = (parts: readonly string[]): ValidateFunction => {
    const reference = `weir#/${pointer(parts)}`;
    const known = compiled.get(reference) ?? ajv.compile({ $ref: reference });
    compiled.set(reference, known);
    return known;
  };
  const match = router(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        method: method.toUpperCase() as 'GET',
        path: spread(path),
        template: path,
      })),
    ),
  );

  return ({ method, path, status, media, body }) => {
    const place = match(path)?.place;
    const route = place?.methods.get(method);
    const where = `${method} ${route?.template ?? path}: ${status} ${JSON.stringify(body)?.slice(0, 500)}`;
    if (!route) {
      expect(status, where).toBe(place ? 405 : 404);
      // A method that a path does not have is refused in the words of those that it has.
      const other = place?.methods.values().next().value;
      const schema = other
        ? schemaAt([...whereIs(other.template, other.method.toLowerCase(), '500'), 'application/json', 'schema'])
        : schemaAt(['components', 'schemas', envelopes[familyOf(path)]]);
      expect(schema(body), where).toBe(true);
      return;
    }
    const name = method.toLowerCase();
    const responses = document.paths[route.template]?.[name]?.responses ?? {};
    expect(Object.keys(responses), where).toContain(String(status));
    const { content, description } = responses[status] as Response;
    const code = (body as { error?: { code?: string } } | undefined)?.error?.code;
    if (code !== undefined) expect(description, where).toContain(`\`${code}\``);
    if (status === 304 || content === undefined) return;
    const type = media.split(';')[0] ?? '';
    expect(Object.keys(content), where).toContain(type);
    if (type !== 'application/json') return;
    const validate = schemaAt([...whereIs(route.template, name, String(status)), type, 'schema']);
    if (!validate(body)) expect.fail(`${where} is not as described: ${ajv.errorsText(validate.errors)}`);
  };
};

const whereIs = (path: string, method: string, status: string): string[] => [
  'paths',
  path,
  method,
  'responses',
  status,
  'content',
];

/** The one path whose last parameter takes the rest of it: the document has no word for that. */
const spread = (path: string): string => path.replace(/\{model\}$/, '{model*}');
