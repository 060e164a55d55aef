import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeConfig } from '../../src/config/config.ts';
import { limitsFor, type Scope, type Tier, tiers } from '../../src/domain/organization/tiers.ts';
import type { Route } from '../../src/http/route.ts';
import { mermaid } from '../../src/kernel/aggregate/chart.ts';
import { metricsTable } from '../../src/observability/metrics/catalogue.ts';
import { clientsTable, openaiClientsTable } from '../e2e/clients/table.ts';
import { aggregates } from './all-aggregates.ts';
import { routesToLookAt } from './all-routes.ts';
import { errorCodesTable, errorTypesTable } from './error-tables.ts';
import { licencesTable } from './licences.ts';

/** Parts of the guides that are written by a program. Each stands between two comments with its name. */

const root = new URL('../../', import.meta.url);

/** Where each part stands. */
const guides = {
  auditor: 'src/audit/README.md',
  charts: 'src/domain/README.md',
  clients: 'src/data/README.md',
  'openai-clients': 'src/data/README.md',
  configuration: 'src/app/README.md',
  licences: 'src/deploy/README.md',
  metrics: 'src/observability/README.md',
  routes: 'src/http/README.md',
  tiers: 'src/contract/limits.md',
  'error-types': 'src/contract/errors.md',
  'error-codes': 'src/contract/errors.md',
  torture: 'test/README.md',
  'long-tests': 'test/README.md',
  mutants: 'test/README.md',
} as const;

export type Part = keyof typeof guides;

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

const grouped = (amount: number): string =>
  amount < 1_000_000 ? amount.toLocaleString('en-US') : `${grouped(amount / 1_000_000)} M`;

const scopes: readonly Scope[] = ['key', 'project', 'organization'];

const tiersTable = (): string =>
  [
    '| tier | paid, US$ | subscription | RPM | RPD | TPM | TPD | in flight |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...tiers.map(({ paid, subscription, tpd }, tier) => {
      const { rpm, rpd, tpm } = limitsFor(tier as Tier, 'key');
      const slots = scopes.map((scope) => limitsFor(tier as Tier, scope).concurrent).join(' / ');
      const cells = [grouped(paid), subscription ?? '–', ...[rpm, rpd, tpm, tpd].map(grouped), slots];
      return `| ${[tier, ...cells].join(' | ')} |`;
    }),
  ].join('\n');

/** The parts that the source alone decides; the others are results of runs. */
export const written = {
  routes,
  charts,
  clients: clientsTable,
  'openai-clients': openaiClientsTable,
  tiers: tiersTable,
  'error-types': errorTypesTable,
  'error-codes': errorCodesTable,
  licences: licencesTable,
  metrics: metricsTable,
  configuration: () => `\`\`\`\n${describeConfig()}\n\`\`\``,
} satisfies Partial<Record<Part, () => string>>;

/** @param path relative to the repository */
export const readGuide = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const bounds = (name: Part, text: string): readonly [from: number, to: number] => {
  const begin = `<!-- ${name} -->\n`;
  const from = text.indexOf(begin);
  const to = text.indexOf(`<!-- /${name} -->`);
  if (from < 0 || to < from) throw new Error(`${guides[name]} has no <!-- ${name} --> … <!-- /${name} -->`);
  return [from + begin.length, to];
};

/** What stands in one part of its guide. @throws Error when it has lost its place */
export const readPart = (name: Part): string => {
  const text = readGuide(guides[name]);
  return text.slice(...bounds(name, text));
};

/** Writes one part of its guide anew. @throws Error when it has lost its place */
export const rewritePart = (name: Part, change: (before: string) => string): void => {
  const text = readGuide(guides[name]);
  const [from, to] = bounds(name, text);
  writeFileSync(
    new URL(guides[name], root),
    `${text.slice(0, from)}${change(text.slice(from, to))}\n${text.slice(to)}`,
  );
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, make] of Object.entries(written)) rewritePart(name as Part, make);
}
