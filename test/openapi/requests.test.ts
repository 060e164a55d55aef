// Lane: middle: it runs at length
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { statusOf } from '../../src/http/error-envelopes.ts';
import { type Ids, rows } from '../matrix/rows.ts';
import { codeOf, isAdministration, matrix, named, ownerOf, rowOf } from '../matrix/stage.ts';
import type { Received } from '../support/in-process.ts';
import { arbitraryOf } from './arbitrary.ts';
import { type Case, cases, changed } from './cases.ts';
import { document, type Operation, type Parameter, type Schema, strictly } from './document.ts';

/**
 * Requests read off the OpenAPI document (the long test H11): each bound, one below and one above, every wrong type,
 * missing, null and surplus members, and random ones. Each answer is one that the document describes, which the gateway
 * in the test sees to; what the document does not allow is refused where it is wrong, what it allows is not.
 * WEIR_H11=5000 makes so many random requests to each route.
 */
const runs = Number(process.env.WEIR_H11 ?? 40);
vi.setConfig({ testTimeout: 60_000 + runs * 60 });

let stage: Awaited<ReturnType<typeof matrix>>;
beforeAll(async () => {
  stage = await matrix();
});
afterAll(() => stage.at.close());

const ajv = new Ajv2020({ strict: false, allErrors: false });
ajv.addFormat('date-time', true);
ajv.addFormat('int64', true);
ajv.addSchema(document, 'weir');
const compiled = new Map<object, ValidateFunction>();
const allows = (schema: Schema, value: unknown): boolean => {
  const anchored = () =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"weir#/components')));
  const validate = compiled.get(schema) ?? anchored();
  compiled.set(schema, validate);
  return validate(value) as boolean;
};

const described = named.flatMap(({ route, title }) => {
  const operation = document.paths[route.path.replaceAll('*}', '}')]?.[route.method.toLowerCase()] as Operation;
  return [{ route, title, operation }];
});
const withBody = described.filter(({ operation, route }) => operation.requestBody && route.bodyForm !== 'urlencoded');
const withParameters = described.filter(({ operation }) => operation.parameters);

/** Codes for what a request looks like; every other is about what it means. */
const syntactic: ReadonlySet<string> = new Set([
  'validation_failed',
  'unknown_field',
  'unknown_permission',
  'invalid_json',
  'invalid_request',
]);

interface Request {
  readonly path?: Ids;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Ids;
  readonly body?: unknown;
}

/** A value as it stands in a query: lists are repeated, objects in brackets. */
const pairs = (name: string, value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap((item) => pairs(`${name}[]`, item));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([part, inner]) => pairs(`${name}[${part}]`, inner));
  return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`];
};

let asked = 0;
const send = async ({ route }: (typeof described)[number], ids: Ids, request: Request): Promise<Received> => {
  const path = route.path.replace(/\{(\w+)\*?\}/g, (_, name: string) =>
    encodeURIComponent({ ...ids, ...request.path }[name] ?? ''),
  );
  const query = Object.entries(request.query ?? {}).flatMap(([name, value]) => pairs(name, value));
  const key = rowOf(route).idempotent && { 'idempotency-key': `generated-${asked++}` };
  const answer = await stage.at.call(route.method, query.length > 0 ? `${path}?${query.join('&')}` : path, {
    headers: { ...ownerOf(route, stage.mine), ...key, ...request.headers },
    ...('body' in request && { body: request.body }),
  });
  expect(answer.thrown, `${route.method} ${path} ${query} ${JSON.stringify(request.body)}`).toBeUndefined();
  expect(answer.status).not.toBe(500);
  return answer;
};

const paramOf = ({ body }: Received): string | null => body.error?.param ?? null;
/** Fields that go together are refused at one of them, and a body that changes nothing nowhere. */
const isOfBoth = ({ text }: Received, path: string): boolean =>
  (path.startsWith('scope') && text.includes('Must name at least one project')) ||
  (path === 'name' && text.includes('Name at least one field'));
/** Whether one of the places lies in the other: a union is refused as a whole, a list by its first bad item. */
const isNear = (param: string | null, path: string): boolean =>
  param !== null && (param === path || path.startsWith(`${param}.`) || param.startsWith(`${path}.`));

const idsFor = new Map<string, Promise<Ids>>();
const idsOf = ({ route }: (typeof described)[number]): Promise<Ids> => {
  const known = idsFor.get(route.operation) ?? Promise.resolve(rows[route.operation]?.ids?.(stage.mine) ?? {});
  idsFor.set(route.operation, known);
  return known;
};

describe('a body', () => {
  test.each(withBody)('of $title is judged as it is described', async (each) => {
    const { route, operation } = each;
    // The models of this gateway are strict.
    const schema = strictly(operation.requestBody?.content['application/json']?.schema as Schema);
    const ids = await idsOf(each);
    const base = rowOf(route).body;
    const depth = isAdministration(route) ? 3 : 4;
    const seen = new Set<string>();
    let refused = 0;
    for (const one of cases(schema, depth)) {
      const body = changed(base, schema, one);
      const text = JSON.stringify(body);
      if (seen.has(text)) continue;
      seen.add(text);
      const answer = await send(each, ids, { body });
      const isSyntactic = syntactic.has(codeOf(answer));
      const where = `${one.title}: ${answer.status} ${answer.text.slice(0, 300)}`;
      if (!allows(schema, body)) {
        refused += 1;
        expect(answer.status, where).toBe(statusOf('validation_failed', route.family));
        if (isAdministration(route)) {
          const path = one.path.join('.');
          expect(isNear(paramOf(answer), path) || isOfBoth(answer, path), where).toBe(true);
        }
      } else if (isAdministration(route)) {
        const isHere = isSyntactic && paramOf(answer) === one.path.join('.');
        expect(isHere && !isBeyondSchemas(one), where).toBe(false);
      }
    }
    expect(refused).toBeGreaterThan(5);
    for (const body of [null, [], 'x', 1, true])
      expect((await send(each, ids, { body: JSON.stringify(body) })).status).toBe(400);
  });
});

/** What JSON Schema has no words for, and the summaries of the fields say instead. */
const isBeyondSchemas = ({ path }: Case): boolean => {
  const [field] = path;
  // One of two names for the same, or one of two fields that go together.
  if (field === 'scopes' || field === 'scope' || field === 'project_ids') return true;
  return field === 'sample';
};

const wrongTexts = ['', 'nonsense', '1.5', '-1', '1e3', ' 1', 'null'];

/** A text of the query as the document means it: digits are numbers, words are truth values. */
const meant = ({ type }: Schema, text: string): unknown => {
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (type === 'boolean') return { true: true, false: false, '1': true, '0': false }[text.toLowerCase()] ?? text;
  return text;
};

/** The texts that tell a parameter's bounds apart. */
const textsOf = (schema: Schema): string[] => {
  const values = [...cases({ properties: { it: schema } }, 1)].filter(
    ({ path }) => path.length === 1 && path[0] === 'it',
  );
  const plain = values
    .map(({ value }) => value)
    .filter((value) => typeof value === 'string' || typeof value === 'number');
  return [...new Set([...plain.map(String), ...wrongTexts])];
};

const asRequest = ({ in: place, name }: Parameter, text: string): Request =>
  place === 'path'
    ? { path: { [name]: text } }
    : place === 'query'
      ? { query: { [name]: text } }
      : { headers: { [name.toLowerCase()]: text } };

describe('each parameter', () => {
  test.each(withParameters)('of $title is judged as it is described', async (each) => {
    const { route, operation } = each;
    const ids = await idsOf(each);
    const { body, query } = rowOf(route);
    const base: Request = {
      ...(body && { body }),
      ...(query && { query: Object.fromEntries(new URLSearchParams(query)) }),
    };
    for (const parameter of operation.parameters ?? []) {
      const { schema, name } = parameter;
      if (schema.type === 'object' || schema.type === 'array') continue;
      const param = parameter.in === 'path' ? name : `${parameter.in}.${name}`;
      for (const text of textsOf(schema)) {
        // An empty path is another path, and a header with other bytes is refused before anybody looks at it.
        if (parameter.in === 'path' && (text === '' || text === '.' || text === '..')) continue;
        const request = asRequest(parameter, text);
        const answer = await send(each, ids, { ...base, ...request, query: { ...base.query, ...request.query } });
        const isHere = syntactic.has(codeOf(answer)) && paramOf(answer) === param;
        expect(isHere, `${param} = ${JSON.stringify(text).slice(0, 60)}: ${answer.status} ${answer.text}`).toBe(
          !allows(schema, meant(schema, text)),
        );
        if (isHere) expect(answer.status).toBe(422);
      }
    }
  });

  test.each(
    described.filter(({ operation }) =>
      operation.parameters?.some(({ in: place, required }) => required && place !== 'path'),
    ),
  )('of $title that is required is missed', async (each) => {
    const { body } = rowOf(each.route);
    const required = each.operation.parameters?.filter(({ in: place, required }) => required && place !== 'path') ?? [];
    for (const { name, in: place } of required) {
      const ids = await idsOf(each);
      const path = each.route.path.replace(/\{(\w+)\}/g, (_, id: string) => ids[id] ?? '');
      const answer = await stage.at.call(each.route.method, path, {
        headers: ownerOf(each.route, stage.mine),
        ...(body && { body }),
      });
      expect([answer.status, codeOf(answer), paramOf(answer)]).toEqual([422, 'validation_failed', `${place}.${name}`]);
    }
  });

  test('that is a list or an object has its bounds as well', async () => {
    const audit = described.find(({ route }) => route.operation === 'listAuditLogs');
    if (!audit) throw new Error('there is no audit log');
    const parameters =
      audit.operation.parameters?.filter(({ schema }) => schema.type === 'object' || schema.type === 'array') ?? [];
    expect(parameters.length).toBeGreaterThan(3);
    for (const { name, schema } of parameters) {
      for (const { path, value } of cases({ properties: { it: schema } }, 3)) {
        if (path[0] !== 'it' || value === undefined || value === null || path.includes('surplus')) continue;
        const built = changed({}, { properties: { it: schema } }, { path, value, title: '' }) as { it: unknown };
        const query = pairs(name, built.it);
        // What a query can say: no empty list or object, no type but text, at most a hundred pairs.
        if (query.length === 0 || query.length > 100 || typeof value === 'object' || typeof value === 'boolean')
          continue;
        const answer = await send(audit, {}, { query: { [name]: built.it } });
        const inner =
          path.length === 2 && schema.type === 'array' ? schema.items : schema.properties?.[String(path[1])];
        if (!inner) continue;
        const isFine = allows(inner, meant(inner, String(value)));
        expect(answer.status, `${query}: ${answer.text.slice(0, 200)}`).toBe(isFine ? 200 : 422);
      }
    }
  });
});

describe('random requests', () => {
  test.each(described.filter(({ operation }) => operation.requestBody ?? operation.parameters))(
    'to $title are answered as described',
    async (each) => {
      const { route, operation } = each;
      const ids = await idsOf(each);
      const content = Object.values(operation.requestBody?.content ?? {})[0];
      const isForm = route.bodyForm === 'urlencoded';
      const own = (name: string): fc.Arbitrary<string> => fc.constant(ids[name] ?? 'none');
      const parameters = operation.parameters ?? [];
      const some = (place: Parameter['in']) =>
        fc.record(
          Object.fromEntries(
            parameters
              .filter((parameter) => parameter.in === place)
              .map(({ name, schema }) => [
                name,
                place === 'path'
                  ? fc.oneof(
                      { weight: 9, arbitrary: own(name) },
                      { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1 }) },
                    )
                  : arbitraryOf(schema),
              ]),
          ),
          { requiredKeys: place === 'path' ? undefined : [] } as object,
        );
      const request = fc.record({
        path: some('path') as fc.Arbitrary<Ids>,
        query: some('query'),
        body: content ? arbitraryOf(strictly(content.schema)) : fc.constant(undefined),
      });
      await fc.assert(
        fc.asyncProperty(request, async ({ path, query, body }) => {
          const sent = isForm ? new URLSearchParams(pairs('', body).join('&')).toString() : body;
          const headers = isForm ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
          const isPath = !Object.values(path).some((id) => id === '.' || id === '..');
          const answer = await send(each, ids, {
            path: isPath ? path : ids,
            query,
            headers,
            ...(content && { body: sent }),
          });
          if (content && !isForm && !allows(strictly(content.schema), body))
            expect(answer.status).toBeGreaterThanOrEqual(400);
        }),
        { numRuns: runs },
      );
    },
  );
});
