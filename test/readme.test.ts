import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { tiers } from '../src/domain/tiers.ts';
import { loadModels } from '../src/upstream/models/models.ts';
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

test('the models files that src/inference/README.md shows are some', () => {
  const env = { ANTHROPIC_API_KEY: 'x', OPENAI_API_KEY: 'x', EAST_KEY: 'x', WEST_KEY: 'x', SPARE_KEY: 'x' };
  const shown = jsonOn('src/inference/README.md').map((file) =>
    loadModels(file, env).map(({ model, upstreams }) => [model.id, upstreams.length]),
  );
  expect(shown).toEqual([
    [
      ['claude', 1],
      ['simulated', 1],
    ],
    [['claude', 1]],
    [
      ['gpt', 1],
      ['vllm', 1],
      ['llama-cpp', 1],
      ['ollama', 1],
    ],
    [['claude', 3]],
  ]);
});

test('the row of a tiers file that src/limits/README.md shows is one of the built-in table', () => {
  const [row, ...more] = jsonOn('src/limits/README.md');
  expect(more).toEqual([]);
  expect(tiers).toContainEqual(JSON.parse(row!));
});
