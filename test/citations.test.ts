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

const number = String.raw`(?:[A-Z]\.\d+|N\d+|[A-M]\b)`;
const cited = new RegExp(String.raw`\bcontract (${number}(?:(?:, | and |–)${number})*)`, 'g');

/** The sections of the contract that a text cites. */
const citationsOf = (text: string): string[] =>
  [...text.matchAll(cited)].flatMap(([, list]) => list!.match(new RegExp(number, 'g')) ?? []);

const folder = join(root, 'src/contract');
const pages = readdirSync(folder).filter((page) => page !== 'README.md');
const textOf = (page: string): string => readFileSync(join(folder, page), 'utf8');

/** The sections of a page of the contract, in their order. */
const sectionsOf = (page: string): string[] =>
  [...textOf(page).matchAll(/^## ([A-Z](?:\.\d+)?) /gm)].map(([, section]) => section!);
const sections = pages.flatMap(sectionsOf);
const isThere = (section: string): boolean =>
  sections.includes(section) || (section.length === 1 && sections.some((each) => each.startsWith(`${section}.`)));

/** Sections that a page of the contract names by their number alone. */
const namedOn = (page: string): string[] => textOf(page).match(/(?<![\w.`#])[A-Z]\.\d+\b/g) ?? [];

test('every section of the contract that the source cites is there, once', () => {
  const all = [
    ...texts.flatMap((file) => citationsOf(readFileSync(file, 'utf8')).map((section) => ({ file, section }))),
    ...pages.flatMap((file) => namedOn(file).map((section) => ({ file, section }))),
  ];
  expect(all.length).toBeGreaterThan(200);
  expect(all.filter(({ section }) => !isThere(section))).toEqual([]);
  expect(sections.filter((each, i) => sections.indexOf(each) !== i)).toEqual([]);
});

test('the table of the contract has every page with its sections', () => {
  const rows = [...textOf('README.md').matchAll(/^\| \[(\S+\.md)\]\(\1\) \| ([^|]*) \|/gm)];
  const table = rows.map(([, page, listed]) => [page, listed!.trim().split(', ')]);
  expect(Object.fromEntries(table)).toEqual(Object.fromEntries(pages.map((page) => [page, sectionsOf(page)])));
});

test('a page of the contract has at most 15,000 bytes', () => {
  const sizes = pages.map((page) => ({ page, bytes: Buffer.byteLength(textOf(page)) }));
  expect(sizes.filter(({ bytes }) => bytes > 15_000)).toEqual([]);
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
  expect(citationsOf(planted)).toEqual(['A.3', 'Z.9', 'N4', 'F.99']);
  expect(citationsOf(planted).filter((section) => !isThere(section))).toEqual(['Z.9', 'N4', 'F.99']);
});
