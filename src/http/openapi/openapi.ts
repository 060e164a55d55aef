import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Code, catalogue } from '../../errors.ts';
import { statusOf } from '../error-envelopes.ts';
import { formMedia } from '../request/media.ts';
import { type Access, type Family, isInference, type Route, route } from '../route.ts';
import { Components, type Json } from './components.ts';
import { headersOf, responseHeaders } from './openapi-headers.ts';
import { errorSchemas, formEncoded, percentEncoded } from './openapi-schemas.ts';

/** Of the API (contract A.6), not of the program. */
const apiVersion = '0.1.0';

const always: readonly Code[] = ['invalid_request', 'internal_error', 'server_shutting_down', 'dependency_unavailable'];
const withCredential: readonly Code[] = [
  'missing_credentials',
  'invalid_api_key',
  'api_key_revoked',
  'api_key_suspended',
  'api_key_expired',
  // Every route recognises each kind of credential by its form.
  'access_token_expired',
  'invalid_access_token',
  'insufficient_permissions',
  'credential_type_not_allowed',
  'rate_limit_exceeded',
  'credentials_stale',
];
const withBody: readonly Code[] = [
  'request_timeout',
  'request_too_large',
  'unsupported_media_type',
  'validation_failed',
  'server_busy',
];

const withJson: readonly Code[] = ['invalid_json', 'request_too_complex'];

const takesTokens = (access: Access): boolean => access.credential === 'admin' && !access.adminKeyOnly;

/** A route's own 401 concerns a command's target, so it is 409. */
const statusesOf = (target: Route): readonly (readonly [Code, number])[] => {
  const codes = new Set<Code>(always);
  const { access } = target;
  if ('permission' in access) {
    for (const code of withCredential) codes.add(code);
    if (!access.permission.endsWith(':read')) codes.add('organization_suspended');
  }
  if (access.credential === 'admin') codes.add('unknown_field');
  if (target.method !== 'GET') {
    for (const code of withBody) codes.add(code);
    if (target.bodyForm !== 'urlencoded') for (const code of withJson) codes.add(code);
    if (!isInference(target.family)) codes.add('length_required');
  }
  if (target.params || target.query || target.headers || target.path.includes('{')) codes.add('validation_failed');
  const shared = [...codes].map((code) => [code, statusOf(code, target.family)] as const);
  const own = (target.errors ?? []).map((code) => {
    const status = statusOf(code, target.family);
    return [code, status === 401 && target.family === 'admin' ? 409 : status] as const;
  });
  const foreign = (target.foreignErrors ?? []).map(
    ([code, status]) => [code, statusOf(code, target.family, status)] as const,
  );
  const all = [...shared, ...own, ...foreign];
  return [...new Map(all.map((each) => [each.join(), each])).values()];
};

const errorSchemaOf = (family: Family, status: number): string => {
  if (family === 'chat') return 'ChatError';
  if (family === 'admin') return 'AdminError';
  if (family === 'oauth') return 'OAuthError';
  if (family === 'models') return status === 422 ? 'ModelsValidationError' : 'AdminError';
  if (status === 429) return 'MessagesRateLimitError';
  return status === 422 ? 'MessagesValidationError' : 'MessagesError';
};

/** Where access tokens are to be had (contract C.3). */
const tokenPath = '/v1/oauth/token';

const referenceTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const errorResponses = (target: Route, components: Components): Record<string, Json> => {
  const byStatus = new Map<number, Code[]>();
  for (const [code, status] of statusesOf(target)) {
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: Record<string, Json> = { 431: { description: 'The head has more than 16 KiB. Answered as HTML.' } };
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const description = codes.map((code) => `\`${code}\`: ${catalogue[code].message}`).join('\n\n');
    const { family, versionedFamily = family } = target;
    const names = [...new Set([errorSchemaOf(family, status), errorSchemaOf(versionedFamily, status)])];
    const name = names.join('Or');
    if (names.length > 1) components.declare(name, { anyOf: names.map(referenceTo) });
    const schema = referenceTo(name);
    responses[status] = {
      description,
      headers: headersOf(target, status),
      content: { 'application/json': { schema } },
    };
  }
  return responses;
};

const classOf = ({ operation }: Route): string => operation.slice(0, 1).toUpperCase() + operation.slice(1);

const successResponses = (target: Route, components: Components): Record<string, Json> => {
  const responses: Record<string, Json> = {};
  for (const [status, reply] of Object.entries(target.replies)) {
    const { description, schema, media = 'application/json' } = reply;
    const content: Record<string, Json> = {};
    // Comma-separated media types; the schema is of the first.
    for (const [at, type] of media.split(',').entries()) {
      const described =
        at === 0 && schema ? components.embed(schema, 'output', `${classOf(target)}Response`) : undefined;
      if (described || reply.media) content[type.trim()] = { schema: described ?? { type: 'string' } };
    }
    const headers = headersOf(target, Number(status));
    responses[status] = { description, headers, ...(Object.keys(content).length > 0 ? { content } : {}) };
  }
  return responses;
};

const membersOf = (schema: z.ZodType | undefined, components: Components, name: string): [string, Json, boolean][] => {
  if (!schema) return [];
  const { properties = {}, required = [] } = components.members(schema, name);
  return Object.entries(properties).map(([member, json]) => [member, json as Json, required.includes(member)]);
};

const parametersOf = (target: Route, components: Components): Json[] => {
  const known = new Map(
    membersOf(target.params, components, `${classOf(target)}Path`).map(([name, json]) => [name, json]),
  );
  const parameters: Json[] = [];
  for (const [, name] of target.path.matchAll(/\{(\w+)\*?\}/g)) {
    const schema = known.get(name!) ?? { type: 'string', minLength: 1, maxLength: 200 };
    parameters.push({ name, in: 'path', required: true, schema: percentEncoded(schema) });
  }
  for (const [name, schema, required] of membersOf(target.query, components, `${classOf(target)}Query`)) {
    const style = schema.type === 'object' ? { style: 'deepObject', explode: true } : {};
    parameters.push({ name, in: 'query', required, schema: percentEncoded(schema), ...style });
  }
  for (const [name, header] of Object.entries(target.headers ?? {})) {
    const schema = components.embed(header, 'input', `${classOf(target)}${name}`);
    parameters.push({ name, in: 'header', required: !header.safeParse(undefined).success, schema });
  }
  return parameters;
};

const securityOf = (access: Access): Json[] => {
  if (access.credential === 'none') return [];
  if (access.credential === 'client') return [{ clientSecret: [] }, {}];
  if (access.credential === 'admin') {
    return takesTokens(access) ? [{ adminKey: [] }, { accessToken: [access.permission] }] : [{ adminKey: [] }];
  }
  return access.apiKeyHeader ? [{ projectKey: [] }, { projectKeyHeader: [] }] : [{ projectKey: [] }];
};

const needsOf = (access: Access): string => {
  if (access.credential === 'none') return 'Needs no credential.';
  if (access.credential === 'client') return 'Needs an OAuth client, by HTTP Basic or by fields of the body.';
  const what = access.credential === 'admin' && access.adminKeyOnly ? ' of an Admin API key' : '';
  return `Needs the permission \`${access.permission}\`${what}.`;
};

const bodyOf = (target: Route, schema: z.ZodType, components: Components): Json => {
  const isForm = target.bodyForm === 'urlencoded';
  const sent = components.embed(schema, 'input', `${classOf(target)}Request`, isForm ? formEncoded : undefined);
  return { required: true, content: { [isForm ? formMedia : 'application/json']: { schema: sent } } };
};

const operationOf = (target: Route, components: Components): Json => {
  const { access, body } = target;
  const parameters = parametersOf(target, components);
  const schema = body && 'read' in body ? body.schema : body;
  return {
    operationId: target.operation,
    summary: target.summary,
    description: needsOf(access),
    tags: [target.tag],
    security: securityOf(access),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(schema ? { requestBody: bodyOf(target, schema, components) } : {}),
    responses: { ...errorResponses(target, components), ...successResponses(target, components) },
  };
};

/** Permissions for access tokens, with what they open. */
const scopesOf = (routes: readonly Route[]): Json => {
  const scopes: Record<string, string> = {};
  for (const { access, operation } of routes) {
    if (!('permission' in access) || !takesTokens(access)) continue;
    const others = scopes[access.permission];
    scopes[access.permission] = others === undefined ? operation : `${others}, ${operation}`;
  }
  return scopes;
};

const ofBrowsers =
  'Every path answers OPTIONS with its methods. Web pages read answers (CORS) where the operator allows their origin, except ' +
  'those of policies, which refuse every request with an Origin, and those of OAuth tokens.';

export const openapi = (routes: readonly Route[]): Json => {
  const components = new Components();
  for (const [name, schema] of Object.entries(errorSchemas)) components.declare(name, schema);
  const paths: Record<string, Record<string, Json>> = {};
  for (const target of routes) {
    const path = target.path.replaceAll('*}', '}');
    paths[path] ??= {};
    paths[path][target.method.toLowerCase()] = operationOf(target, components);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Weir', version: apiVersion, description: ofBrowsers },
    // The gateway that serves the document.
    servers: [{ url: '/' }],
    tags: [{ name: 'Organization' }, { name: 'Inference' }, { name: 'OAuth' }, { name: 'Operations' }],
    paths,
    components: {
      schemas: components.schemas,
      headers: responseHeaders,
      securitySchemes: {
        adminKey: { type: 'http', scheme: 'bearer', description: 'An Admin API key.' },
        accessToken: {
          type: 'oauth2',
          description: 'An access token of an OAuth client.',
          flows: { clientCredentials: { tokenUrl: tokenPath, scopes: scopesOf(routes) } },
        },
        clientSecret: {
          type: 'http',
          scheme: 'basic',
          description: 'The id and the secret of an OAuth client; they may be fields of the body instead.',
        },
        projectKey: { type: 'http', scheme: 'bearer', description: 'A project API key.' },
        projectKeyHeader: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'A project API key.' },
      },
    },
  };
};

const isCurrent = (ifNoneMatch: string | undefined, tag: string): boolean =>
  ifNoneMatch
    ?.split(',')
    .some((candidate) => candidate.trim() === '*' || candidate.trim().replace(/^W\//, '') === tag) ?? false;

/** Made once, and describes itself (contract C.4). */
export const openapiRoute = (routes: readonly Route[]): Route => {
  const own: Route = route({
    method: 'GET',
    path: '/v1/openapi.json',
    operation: 'getOpenapi',
    summary: 'This description',
    tag: 'Operations',
    family: 'admin',
    access: { credential: 'none' },
    replies: {
      200: { description: 'An OpenAPI 3.1 document.', schema: z.looseObject({ openapi: z.string() }) },
      304: { description: 'The copy of the client is current.' },
    },
    handle: ({ head }) =>
      isCurrent(head.header('if-none-match'), caching.ETag)
        ? { status: 304, headers: caching, body: '' }
        : { status: 200, headers: caching, body },
  });
  const body = Buffer.from(JSON.stringify(openapi([...routes, own])));
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 27);
  const caching = { ETag: `"${digest}"`, 'Cache-Control': 'public, max-age=300' };
  return own;
};
