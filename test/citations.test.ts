import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const texts = ['src', 'projections', 'test', 'bench'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs|md)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name)),
);

const number = String.raw`(?:[A-K]\.\d+|N\d+|[A-K]\b)`;
const cited = new RegExp(String.raw`\bcontract (${number}(?:(?:, | and |–)${number})*)`, 'g');

/** The sections of the contract that a text cites. */
const citationsOf = (text: string): string[] =>
  [...text.matchAll(cited)].flatMap(([, list]) => list!.match(new RegExp(number, 'g')) ?? []);

const sections = [...readFileSync(join(root, 'src/contract.md'), 'utf8').matchAll(/^#{2,3} ([A-KN][.\d]*)\b/gm)].map(
  (heading) => heading[1]!.replace(/\.$/, ''),
);
const isThere = (section: string): boolean =>
  sections.includes(section) || (section.length === 1 && sections.some((each) => each.startsWith(`${section}.`)));

test('every section of the contract that the source cites is there, once', () => {
  const all = texts.flatMap((file) => citationsOf(readFileSync(file, 'utf8')).map((section) => ({ file, section })));
  expect(all.length).toBeGreaterThan(200);
  expect(all.filter(({ section }) => !isThere(section))).toEqual([]);
  expect(sections.filter((each, i) => sections.indexOf(each) !== i)).toEqual([]);
});

const pageNamed = /(?:[\w.-]+\/)*[\w-]+\.md\b/g;

test('every page that the source names is in the repository', () => {
  const named = texts
    .filter((file) => !file.endsWith('.md'))
    .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(pageNamed)].map(([page]) => ({ file, page })));
  expect(named.length).toBeGreaterThan(10);
  const isPage = (file: string, page: string): boolean =>
    [root, dirname(file), join(root, 'src')].some((folder) => existsSync(join(folder, page)));
  expect(named.filter(({ file, page }) => !isPage(file, page))).toEqual([]);
});

test('a citation of what is not there is noticed', () => {
  const planted = `contract${' '}A.3, Z.9 and N4; contract${' '}F.99`;
  expect(citationsOf(planted)).toEqual(['A.3', 'F.99']);
  expect(citationsOf(planted).filter((section) => !isThere(section))).toEqual(['F.99']);
});
