import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeConfig } from '../../src/config.ts';
import type { Route } from '../../src/http/route.ts';
import { mermaid } from '../../src/kernel/chart.ts';
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
  configuration: () => `\`\`\`\n${describeConfig()}\n\`\`\``,
};

/** The README with its generated parts made anew. @throws Error when a part has lost its place */
export const current = (text: string): string => {
  let next = text;
  for (const [name, make] of Object.entries(sections)) {
    const begin = `<!-- ${name} -->`;
    const end = `<!-- /${name} -->`;
    const from = next.indexOf(begin);
    const to = next.indexOf(end);
    if (from < 0 || to < from) throw new Error(`the README has no place for its ${name}`);
    next = `${next.slice(0, from)}${begin}\n${make()}\n${next.slice(to)}`;
  }
  return next;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(readmeFile, current(readFileSync(readmeFile, 'utf8')));
}
