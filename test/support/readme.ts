import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeConfig } from '../../src/config.ts';
import type { Route } from '../../src/http/route.ts';
import { mermaid } from '../../src/kernel/chart.ts';
import { clientsTable } from '../e2e/clients/table.ts';
import { aggregates } from './all-aggregates.ts';
import { routesToLookAt } from './all-routes.ts';

/** The parts of the README that the code knows better than anybody who types. Each stands between two comments. */

export const readmeFile = fileURLToPath(new URL('../../README.md', import.meta.url));

const accessOf = ({ access }: Route): string => {
  if (access.credential === 'none') return 'none';
  if (access.credential === 'client') return 'OAuth client';
  if (access.credential === 'project') return `project key, \`${access.permission}\``;
  return `admin key${access.adminKeyOnly ? '' : ' or access token'}, \`${access.permission}\``;
};

const routes = (): string =>
  [
    '| route | credential and permission | what it does |',
    '|---|---|---|',
    ...routesToLookAt().map((each) => `| \`${each.method} ${each.path}\` | ${accessOf(each)} | ${each.summary} |`),
  ].join('\n');

const charts = (): string =>
  aggregates
    .map(({ category, machine }) => `**${category}**\n\n\`\`\`mermaid\n${mermaid(machine)}\n\`\`\``)
    .join('\n\n');

const sections: Readonly<Record<string, () => string>> = {
  routes,
  charts,
  clients: clientsTable,
  configuration: () => `\`\`\`\n${describeConfig()}\n\`\`\``,
};

/** What stands in one part of the README. @throws Error when it has lost its place */
export const part = (text: string, name: string): string => {
  const begin = `<!-- ${name} -->\n`;
  const from = text.indexOf(begin);
  const to = text.indexOf(`<!-- /${name} -->`);
  if (from < 0 || to < from) throw new Error(`the README has no place for its ${name}`);
  return text.slice(from + begin.length, to);
};

/** The README with one part made anew. @throws Error when it has lost its place */
export const withPart = (text: string, name: string, content: string): string => {
  const before = part(text, name);
  const from = text.indexOf(`<!-- ${name} -->\n`) + `<!-- ${name} -->\n`.length;
  return `${text.slice(0, from)}${content}\n${text.slice(from + before.length)}`;
};

/** The README with the parts that come from the code made anew. @throws Error when a part has lost its place */
export const current = (text: string): string =>
  Object.entries(sections).reduce((next, [name, make]) => withPart(next, name, make()), text);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(readmeFile, current(readFileSync(readmeFile, 'utf8')));
}
