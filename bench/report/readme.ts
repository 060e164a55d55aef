import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Bar } from './bar.ts';
import { blank, shownValue } from './figures.ts';
import type { Result } from './result.ts';

const guideFile = fileURLToPath(new URL('../README.md', import.meta.url));
const begin = '<!-- bench -->';
const end = '<!-- /bench -->';

/** What must not be quoted is not printed. */
const measured = (bar: Bar): string => (bar.verdict === 'invalid' ? blank : shownValue(bar));

const verdictOf = ({ verdict, note }: Bar): string =>
  verdict === 'met' || verdict === 'missed' || note === null ? verdict : `${verdict}: ${note}`;

const settled = ({ environment: { commit }, at, settings }: Result): string =>
  `${at.slice(0, 10)}${typeof settings.target === 'string' ? ` of ${settings.target}` : commit === null ? '' : ` of ${commit.slice(0, 7)}`}; ${settings.rounds} interleaved rounds of ${settings.seconds} s`;

/** The bars of runs as Markdown: of each scenario those of the last run that has it, in the order of the first. */
const readmeTable = (results: readonly Result[]): string => {
  const last = new Map(results.flatMap((result) => result.scenarios.map((each) => [each.id, { each, result }])));
  const own = results
    .map((result) => ({ result, ids: [...last].filter(([, from]) => from.result === result).map(([id]) => id) }))
    .filter(({ ids }) => ids.length > 0);
  const [most] = own.toSorted((a, b) => b.ids.length - a.ids.length);
  if (most === undefined) throw new Error('there is no scenario in what was measured');
  const { cpu, cores, node } = most.result.environment;
  const others = own
    .filter((one) => one !== most)
    .map(({ result, ids }) => `${ids.map((id) => `\`${id}\``).join(', ')}: measured ${settled(result)}.`);
  return [
    [`Measured ${settled(most.result)}, 95 % intervals; ${cpu}, ${cores} cores, Node ${node}.`, ...others].join('\n'),
    '',
    '| what | bar | measured | verdict |',
    '|---|---|---|---|',
    ...[...last.values()].flatMap(({ each }) =>
      each.bars.map((bar) => `| ${bar.title} | ${bar.bound} | ${measured(bar)} | ${verdictOf(bar)} |`),
    ),
  ].join('\n');
};

/** The text with its table of bars made anew. @throws Error where it has no place for one */
export const withTable = (text: string, results: readonly Result[]): string => {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`bench/README.md has no ${begin} … ${end}`);
  return `${text.slice(0, from)}${begin}\n${readmeTable(results)}\n${text.slice(to)}`;
};

/** @returns the file that was rewritten */
export const writeReadme = (results: readonly Result[]): string => {
  writeFileSync(guideFile, withTable(readFileSync(guideFile, 'utf8'), results));
  return guideFile;
};
