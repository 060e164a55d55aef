import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tiers } from '../src/domain/tiers.ts';
import { loadModels } from '../src/upstream/models/models.ts';
import { current, readmeFile } from './support/readme.ts';

const text = readFileSync(readmeFile, 'utf8');

test('the charts, routes and variables in the README are those of the code (npm run fix writes them)', () => {
  expect(text).toBe(current(text));
});

test('every file and folder that the README names is there', () => {
  const named = [...text.matchAll(/`((?:src|projections|test|bench)\/[\w./-]*)`/g)].map((m) => m[1] as string);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([]);
});

test('every file and folder that the map of the source names is there, and no room is left out', () => {
  const map = readFileSync(new URL('../src/README.md', import.meta.url), 'utf8');
  const named = [...map.matchAll(/`((?:src|projections|test|bench)\/[\w./-]*)`/g)].map((m) => m[1] as string);
  expect(named.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([]);
  const rooms = readdirSync(new URL('../src', import.meta.url), { withFileTypes: true }).filter((at) =>
    at.isDirectory(),
  );
  expect(rooms.map(({ name }) => `src/${name}/`).filter((room) => !named.includes(room))).toEqual([]);
});

test('every npm script that the README names is there', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const named = [...text.matchAll(/npm run ([\w:]+)/g)].map((m) => m[1] as string);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

const [oneUpstream, several, tiersRow] = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map((m) => m[1] as string);

test('the models files that the README shows are some', () => {
  const env = { ANTHROPIC_API_KEY: 'x', EAST_KEY: 'x', WEST_KEY: 'x', SPARE_KEY: 'x' };
  const shown = [oneUpstream, several].map((file) =>
    loadModels(file as string, env).map(({ model, upstreams }) => [model.id, upstreams.length]),
  );
  expect(shown).toEqual([
    [
      ['claude', 1],
      ['simulated', 1],
    ],
    [['claude', 3]],
  ]);
});

test('the row of a tiers file that the README shows is one of the built-in table', () => {
  expect(tiers).toContainEqual(JSON.parse(tiersRow as string));
});
