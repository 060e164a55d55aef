import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Bar } from './bar.ts';
import { blank, shownValue } from './figures.ts';
import type { Result } from './result.ts';

const readmeFile = fileURLToPath(new URL('../../README.md', import.meta.url));
const begin = '<!-- bench -->';
const end = '<!-- /bench -->';

/** What must not be quoted is not printed. */
const measured = (bar: Bar): string => (bar.verdict === 'invalid' ? blank : shownValue(bar));

const verdictOf = ({ verdict, note }: Bar): string =>
  verdict === 'met' || verdict === 'missed' || note === null ? verdict : `${verdict}: ${note}`;

/** The bars of a run as Markdown. */
const readmeTable = ({ scenarios, environment, at, settings }: Result): string => {
  const { commit, cpu, cores, node } = environment;
  const of = commit === null ? '' : ` of ${commit.slice(0, 7)}`;
  const rows = scenarios.flatMap(({ bars }) =>
    bars.map((bar) => `| ${bar.title} | ${bar.bound} | ${measured(bar)} | ${verdictOf(bar)} |`),
  );
  return [
    `Measured ${at.slice(0, 10)}${of} on ${cpu}, ${cores} cores, Node ${node}; ${settings.rounds} interleaved rounds of ${settings.seconds} s, 95 % intervals.`,
    '',
    '| what | bar | measured | verdict |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
};

/** The text with its table of bars made anew. @throws Error where it has no place for one */
export const withTable = (text: string, result: Result): string => {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the README has no ${begin} … ${end}`);
  return `${text.slice(0, from)}${begin}\n${readmeTable(result)}\n${text.slice(to)}`;
};

/** @returns the file that was rewritten */
export const writeReadme = (result: Result): string => {
  writeFileSync(readmeFile, withTable(readFileSync(readmeFile, 'utf8'), result));
  return readmeFile;
};
