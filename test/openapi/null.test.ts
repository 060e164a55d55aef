import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Route } from '../../src/http/route.ts';
import { type Ids, rows } from '../matrix/rows.ts';
import { isAdministration, matrix, named, ownerOf, rowOf } from '../matrix/stage.ts';
import type { Received } from '../support/in-process.ts';
import { document, resolved, type Schema } from './document.ts';

/** Null in a request of the administration is what the table of contract C.5 says, for every field that may be absent. */

vi.setConfig({ testTimeout: 60_000 });

let stage: Awaited<ReturnType<typeof matrix>>;
beforeAll(async () => {
  stage = await matrix();
});
afterAll(() => stage.at.close());

const contract = readFileSync(new URL('../../src/contract/administration.md', import.meta.url), 'utf8');
const table = contract.split('| field of a request | null means |\n| --- | --- |\n')[1]!.split('\n\n')[0]!;
const namesOf = (cell: string): string[] => [...cell.matchAll(/`([\w.]+)`/g)].map(([, name]) => name!);
/** Field by field, whether its null is the same as its absence. */
const isAbsence = new Map(
  table.split('\n').flatMap((row) => {
    const [, fields, meaning] = row.split('|').map((cell) => cell.trim());
    return namesOf(fields!).map((name) => [name, meaning === 'the same as absent'] as const);
  }),
);

type Place = readonly string[];

/** Every member that may be absent, at any depth; of a list those of its items. */
const optionalOf = (given: Schema, path: Place = []): Place[] => {
  const schema = resolved(given);
  const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((each) => optionalOf(each, path));
  const items = schema.items ? optionalOf(schema.items, [...path, '0']) : [];
  const members = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const place = [...path, name];
    return [...(schema.required?.includes(name) ? [] : [place]), ...optionalOf(inner, place)];
  });
  return [...alternatives, ...items, ...members];
};

/** The body with a value at a place, in whatever objects lead there; undefined leaves the place out. */
const withValue = (body: unknown, [step, ...rest]: Place, value: unknown): object => {
  const before = (body ?? {}) as Record<string, unknown>;
  if (step === '0') return [withValue((body as unknown[] | undefined)?.[0], rest, value)];
  const inner = rest.length === 0 ? value : withValue(before[step!], rest, value);
  return { ...before, [step!]: inner };
};

const schemaOf = ({ path, method }: Route): Schema | undefined => {
  const body = document.paths[path]?.[method.toLowerCase()]?.requestBody;
  return body?.content['application/json']?.schema;
};

const places = named
  .filter(({ route }) => isAdministration(route))
  .flatMap(({ route, title }) =>
    optionalOf(schemaOf(route) ?? {}).map((place) => ({ route, title, place, field: place.join('.') })),
  );

/** What items of a list need beside: a block of an answer that is tried. */
const blocks: Readonly<Record<string, object>> = {
  id: { type: 'tool_use', name: 'n', input: {} },
  signature: { type: 'thinking', thinking: 't' },
};
const baseOf = (route: Route, place: Place): object => {
  const { body = {} } = rowOf(route);
  const block = blocks[place.at(-1)!];
  if (place[0] !== 'sample' || block === undefined || !place.includes('content')) return body;
  return { ...body, sample: { response: { content: [block] } } };
};

let asked = 0;
const send = async (route: Route, ids: Ids, body: object, key = `null-asked-${asked++}`): Promise<Received> => {
  const path = route.path.replace(/\{(\w+)\*?\}/g, (_, name: string) => ids[name] ?? '');
  const headers = { ...ownerOf(route, stage.mine), 'idempotency-key': key };
  return stage.at.call(route.method, path, { headers, body });
};

/** Without what differs from one answer to the next. */
const told = ({ status, text }: Received): string =>
  `${status} ${text
    .replaceAll(/[a-z]+_[0-9a-z]{26}/g, 'id')
    .replaceAll(/"(gw\w_[\w.]+|\d{10})"/g, '"x"')
    .replaceAll(/:\d{10}/g, ':0')}`;

describe('null in a request of the administration', () => {
  test('has a meaning in the table for every field that may be absent, and for no other', () => {
    const inSample = (place: Place): boolean => place[0] === 'sample' && place.length > 1;
    const fields = new Set(places.filter(({ place }) => !inSample(place)).map(({ field }) => field));
    expect([...isAbsence.keys()].sort()).toEqual([...fields].sort());
    expect(places.length).toBeGreaterThan(40);
  });

  test.each(places)('as $field of $title is what the table says', async ({ route, place }) => {
    const idsOf = async (): Promise<Ids> => (await rows[route.operation]?.ids?.(stage.mine)) ?? {};
    const base = withValue(baseOf(route, place), place, undefined);
    const withNull = withValue(base, place, null);
    const answer = await send(route, await idsOf(), withNull);
    const isEmpty = Object.values(withNull).every((value) => value == null) && 'name' in withNull;
    expect(answer.status, answer.text).toBe(isEmpty ? 422 : rowOf(route).status);
    if (place[0] === 'sample' || isAbsence.get(place[0]!)) {
      expect(told(answer)).toBe(told(await send(route, await idsOf(), base)));
    } else if (place[0] === 'limits') {
      expect(new Set(Object.values(answer.body.limits)), answer.text).toEqual(new Set([null]));
    } else if (place[0]!.startsWith('max_')) {
      // The tier's is shown.
      expect(answer.body[place[0]!], answer.text).toBeGreaterThan(5);
    } else {
      expect(answer.body[place[0]!] ?? null, answer.text).toBeNull();
    }
  });

  test('in every field at once changes nothing, and is refused as a body without any', async () => {
    for (const operation of ['updateProject', 'updateProjectApiKey']) {
      const { route } = named.find(({ route: each }) => each.operation === operation)!;
      const fields = Object.keys(resolved(schemaOf(route)!).properties ?? {}).filter((field) => isAbsence.get(field));
      const ids = (await rows[operation]?.ids?.(stage.mine)) ?? {};
      const answer = await send(route, ids, Object.fromEntries(fields.map((field) => [field, null])));
      expect(answer.status).toBe(422);
      expect(answer.text).toMatch(/Name at least one field|Give name/);
    }
  });

  test('sets what has a meaning of its own', async () => {
    const { projectId, newKey } = stage.mine;
    const base = '/v1/organization/projects';
    const headers = ownerOf(named.find(({ route }) => route.operation === 'updateProject')!.route, stage.mine);
    const post = (path: string, body: object) => stage.at.call('POST', path, { headers, body });
    const project = `${base}/${await stage.mine.newProject()}`;
    expect((await post(project, { allowed_models: ['m'] })).body.allowed_models).toEqual(['m']);
    expect((await post(project, { allowed_models: null, name: null })).body.allowed_models).toBeNull();
    const key = `${base}/${projectId}/api_keys/${(await newKey()).id}`;
    expect((await post(key, { expires_in_seconds: 60, expires_at: undefined })).body.expires_at).toBeGreaterThan(0);
    expect((await post(key, { expires_at: null, expires_in_seconds: null })).body.expires_at).toBeNull();
    expect((await post(key, { expires_at: null, expires_in_seconds: 60 })).status).toBe(422);
  });

  test('and absence are one request for an Idempotency-Key', async () => {
    const { route } = named.find(({ route: each }) => each.operation === 'createProjectApiKey')!;
    const ids = { project_id: stage.mine.projectId };
    const first = await send(route, ids, { name: 'n' }, 'null-or-absent');
    const second = await send(route, ids, { name: 'n', permissions: null, expires_in_seconds: null }, 'null-or-absent');
    expect([first.status, second.status, second.body.value]).toEqual([201, 201, first.body.value]);
  });
});
