import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../src/config/config.ts';
import { modelSchema } from '../src/data/upstream/models/model-schema.ts';
import { loadModels } from '../src/data/upstream/models/models.ts';
import { tiers } from '../src/domain/organization/tiers.ts';
import { adminPermissions, projectPermissions, tokenPermissions } from '../src/domain/permissions.ts';
import { type Part, readGuide, readPart, written } from './support/guides.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const isThere = (path: string): boolean => existsSync(join(root, path));

/** Every file of the source and every page, relative to the repository. */
const files = ['src', 'projections', 'test', 'bench'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
);
const pages = ['README.md', ...files.filter((path) => path.endsWith('.md'))];

/** As GitHub names the place of a heading. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Links to other pages of the repository and to headings. */
const linksOf = (page: string): { readonly path: string; readonly anchor: string | undefined }[] =>
  [...readGuide(page).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, target]) => {
    const [path, anchor] = target!.split('#') as [string, string?];
    return { path: path === '' ? page : normalize(join(dirname(page), path)), anchor };
  });

test('README.md has at most 12 KiB', () => {
  expect(Buffer.byteLength(readGuide('README.md'))).toBeLessThanOrEqual(12_288);
});

test.each(Object.entries(written))('the part %s is what the source says (npm run fix writes it)', (name, make) => {
  expect(readPart(name as Part)).toBe(`${make()}\n`);
});

test('every page is two links away from README.md at most', () => {
  const first = linksOf('README.md').map(({ path }) => path);
  const reached = new Set([
    'README.md',
    ...first,
    ...first.filter((p) => p.endsWith('.md')).flatMap((p) => linksOf(p).map(({ path }) => path)),
  ]);
  expect(pages.length).toBeGreaterThan(12);
  expect(pages.filter((page) => !reached.has(page))).toEqual([]);
});

describe.each(pages)('%s', (page) => {
  test('names files and folders that are there', () => {
    const text = readGuide(page);
    const inRepository = [...text.matchAll(/`((?:src|projections|test|bench)\/[\w./-]*)`/g)].map(([, path]) => path!);
    expect(inRepository.filter((path) => !isThere(path))).toEqual([]);
    // In a room, and among its tests, a name may stand without its folder.
    const near = files.filter((path) => path.startsWith('test/') || path.startsWith(`${dirname(page)}/`));
    const inRoom = [...text.matchAll(/`([\w./-]+\.(?:ts|mjs))`/g)]
      .map(([, path]) => path!)
      .filter((path) => !inRepository.includes(path));
    const isNear = (path: string) =>
      near.some((file) => file.endsWith(`/${path}`)) || isThere(join(dirname(page), path));
    expect(inRoom.filter((path) => !isNear(path))).toEqual([]);
  });

  test('has links that lead somewhere', () => {
    const lost = linksOf(page).filter(
      ({ path, anchor }) => !isThere(path) || (anchor !== undefined && !anchorsOf(readGuide(path)).includes(anchor)),
    );
    expect(lost).toEqual([]);
  });

  test('names npm scripts that are there', () => {
    const { scripts } = JSON.parse(readGuide('package.json'));
    const named = [...readGuide(page).matchAll(/npm run (?:--silent )?([a-z:]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

test('the map of the source leaves no room out', () => {
  const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const map = readGuide('src/README.md');
  expect(rooms.map(({ name }) => `\`src/${name}/\``).filter((room) => !map.includes(room))).toEqual([]);
});

/** The blocks of JSON on a page. */
const jsonOn = (page: string): string[] =>
  [...readGuide(page).matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => json!);

test('the models files that src/data/README.md shows are some', () => {
  const env = { ANTHROPIC_API_KEY: 'x', OPENAI_API_KEY: 'x', EAST_KEY: 'x', WEST_KEY: 'x', SPARE_KEY: 'x' };
  const shown = jsonOn('src/data/README.md').map((file) =>
    loadModels(file, env).map(({ model, upstreams }) => [model.id, upstreams.length]),
  );
  expect(shown).toEqual([
    [
      ['claude', 1],
      ['simulated', 1],
    ],
    [['claude', 1]],
    [['qwen', 1]],
    [
      ['gpt', 1],
      ['vllm', 1],
      ['llama-cpp', 1],
      ['ollama', 1],
    ],
    [['text-embedding-3-small', 1]],
    [['claude', 3]],
  ]);
});

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly items?: Shape;
  readonly oneOf?: readonly Shape[];
  readonly default?: unknown;
  readonly const?: unknown;
}
const kindsOf = (shape: Shape | undefined): readonly Shape[] => shape?.oneOf ?? [];

/** What the schema says of the default of a field: a value, that the field is required, or nothing. */
const defaultsOf = (shape: Shape, prefix = ''): [string, string | null][] =>
  Object.entries(shape.properties ?? {}).flatMap(([name, field]) => {
    if (field.properties !== undefined) return defaultsOf(field, `${prefix}${name}.`);
    if (shape.required?.includes(name)) return [[prefix + name, 'required']];
    return [[prefix + name, field.default === undefined ? null : `\`${JSON.stringify(field.default)}\``]];
  });

/** The same of fields that several kinds have. */
const defaultsOfKinds = (kinds: readonly Shape[], prefix: string): Map<string, string | null> => {
  const found = new Map<string, string | null>();
  for (const [path, said] of kinds.flatMap((kind) => defaultsOf(kind, prefix))) {
    const having = kinds.filter(({ properties }) => path.slice(prefix.length) in (properties ?? {}));
    const needing = having.filter(({ required }) => required?.includes(path.slice(prefix.length)));
    const named = needing.map(({ properties }) => `\`${properties?.kind?.const}\``).join(', ');
    const isOfAll = needing.length === kinds.length;
    found.set(path, needing.length === 0 ? said : isOfAll ? 'required' : `required by ${named}`);
  }
  return found;
};

test('the table of MODELS_FILE has every field with its default, and no other', () => {
  const schema = z.toJSONSchema(modelSchema, { io: 'input', unrepresentable: 'any' }) as Shape;
  const { upstream, upstreams } = schema.properties ?? {};
  const ofOne = defaultsOfKinds(kindsOf(upstream), 'upstream.');
  const ofSeveral = defaultsOfKinds(kindsOf(upstreams?.items), 'upstreams.');
  for (const [path, said] of ofOne) {
    const same = path.replace('upstream.', 'upstreams.');
    expect(ofSeveral.get(same)).toBe(said);
    ofSeveral.delete(same);
  }
  const expected = Object.fromEntries([...defaultsOf(schema), ...ofOne, ...ofSeveral]);
  const [, table = ''] = /<!-- models-file -->\n([\s\S]*?)<!-- /.exec(readGuide('src/data/README.md')) ?? [];
  const rows = [...table.matchAll(/^\| `(\S+)` \| (.*?) \| (.+) \|$/gm)].map(([, path, said, what]) => {
    expect(what).not.toBe('');
    return [path, expected[path!] === null && !/^(`[^`]*`|required.*)$/.test(said!) ? null : said];
  });
  expect(Object.fromEntries(rows)).toEqual(expected);
  expect(rows).toHaveLength(Object.keys(expected).length);
  expect(Object.keys(expected).filter((path) => /_(timeout_)?ms$/.test(path))).toHaveLength(6);
});

/** Rows of a table of permissions: what the first cell names, and the second. */
const permissionRows = (page: string, place: RegExp): { readonly named: string[]; readonly of: string }[] => {
  const [table = ''] = place.exec(readGuide(page)) ?? [];
  return [...table.matchAll(/^\| (`[^|]*:[^|]*`) \| ([^|]*) \|/gm)].map(([, cell, of]) => ({
    named: [...cell!.matchAll(/`([a-z_]+:[a-z]+)`/g)].map(([, permission]) => permission!),
    of: of!,
  }));
};

test('the permissions of the contract are those of the catalogue, in its order, with who may hold them', () => {
  const rows = permissionRows('src/contract/administration.md', /## D Permissions\n\n[\s\S]*?\n\n/);
  const all: readonly string[] = [...projectPermissions, ...adminPermissions];
  expect(rows.flatMap(({ named }) => named)).toEqual(all);
  const holders: Readonly<Record<string, readonly string[]>> = {
    'project key': projectPermissions,
    'Admin key, token': tokenPermissions,
    'Admin key': adminPermissions.filter((each) => !(tokenPermissions as readonly string[]).includes(each)),
  };
  for (const [holder, permissions] of Object.entries(holders)) {
    expect(rows.filter(({ of }) => of === holder).flatMap(({ named }) => named)).toEqual(permissions);
  }
});

test('the permissions of src/domain/README.md are those of the catalogue', () => {
  const named = permissionRows('src/domain/README.md', /\| permissions \([\s\S]*?\n\n/).flatMap((row) => row.named);
  expect(named.toSorted()).toEqual([...projectPermissions, ...adminPermissions].toSorted());
});

test('the limits of the administration in the contract are the defaults of the configuration', () => {
  const {
    ADMIN_CREDENTIAL_RPM: requests,
    ADMIN_ORGANIZATION_RPM: requestsOfAll,
    ADMIN_CREDENTIAL_CONCURRENT: inFlight,
    ADMIN_ORGANIZATION_CONCURRENT: inFlightOfAll,
  } = readConfig({});
  const said = `${requests} and ${requestsOfAll} requests a minute, ${inFlight} and ${inFlightOfAll} in flight:`;
  expect(readGuide('src/contract/limits.md')).toContain(said);
});

test('the row of a tiers file that src/limits/README.md shows is one of the built-in table', () => {
  const [row, ...more] = jsonOn('src/limits/README.md');
  expect(more).toEqual([]);
  expect(tiers).toContainEqual(JSON.parse(row!));
});
