import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { plantedFaults } from '../planted/faults.ts';
import { grouped, merged, type Row, rowsIn, tableOf } from './table.ts';

/** A test that its lane lets have a few rounds, and that is also run with many. */
export interface LongTest {
  readonly id: string;
  readonly title: string;
  /** What is counted. */
  readonly unit: string;
  readonly file: string;
  /** The environment variable by which the test is told how much. */
  readonly variable: string;
  /** How much, in `npm run torture` unless told otherwise. */
  readonly counts: { readonly long: number };
}

export const longTests: readonly LongTest[] = [
  {
    id: 'ADMIN',
    title: 'random administrators against a plain model',
    unit: 'steps',
    file: 'test/admin/administrators.test.ts',
    variable: 'ADMINISTRATOR_STEPS',
    counts: { long: 10_000 },
  },
  {
    id: 'AUDIT',
    title: 'replays of random administrations against what was live then',
    unit: 'positions',
    file: 'test/audit/time-travel.test.ts',
    variable: 'AUDIT_POSITIONS',
    counts: { long: 10_000 },
  },
  {
    id: 'FIRST',
    title: 'gateways that are started at once on an empty store',
    unit: 'stores, each with one organization',
    file: 'test/e2e/several-gateways.test.ts',
    variable: 'FIRST_RUNS',
    counts: { long: 50 },
  },
  {
    id: 'G3',
    title: 'accounts of requests against the ledger of their upstream, while the gateway is killed',
    unit: 'requests',
    file: 'test/e2e/usage-kills.test.ts',
    variable: 'USAGE_REQUESTS',
    counts: { long: 100_000 },
  },
  {
    id: 'G4',
    title: 'rate limits against plain lists',
    unit: 'attempts',
    file: 'test/limits/windows-at-length.test.ts',
    variable: 'LIMITS_ATTEMPTS',
    counts: { long: 100_000 },
  },
  {
    id: 'H11',
    title: 'random requests, read off the OpenAPI document',
    unit: 'to each route',
    file: 'test/openapi/requests.test.ts',
    variable: 'WEIR_H11',
    counts: { long: 5_000 },
  },
  {
    id: 'H14',
    title: 'requests that are broken off at any moment',
    unit: 'aborts',
    file: 'test/inference/limits-charges.test.ts',
    variable: 'LIMITS_ABORTS',
    counts: { long: 10_000 },
  },
  {
    id: 'JSON',
    title: 'bodies, sound and damaged, through the scanner and through the parsers',
    unit: 'documents',
    file: 'test/json/document.test.ts',
    variable: 'FUZZ_DOCUMENTS',
    counts: { long: 10_000_000 },
  },
  {
    id: 'JUDGE',
    title: 'policies on requests and answers of every API against a naive judge',
    unit: 'cases',
    file: 'test/policies/naive-judge.test.ts',
    variable: 'POLICY_CASES',
    counts: { long: 10_000 },
  },
  {
    id: 'K8',
    title: 'Idempotency-Keys while the server is killed',
    unit: 'creations',
    file: 'test/e2e/idempotency-kills.test.ts',
    variable: 'IDEMPOTENCY_REQUESTS',
    counts: { long: 10_000 },
  },
  {
    id: 'PAGES',
    title: 'files that LMDB has written, which the check of pages has to call sound',
    unit: 'histories',
    file: 'test/lmdb-pages/check-pages.test.ts',
    variable: 'PAGE_TREES',
    counts: { long: 10_000 },
  },
  {
    id: 'SECRETS',
    title: 'requests with a key or a prompt in every place, of which nothing may be written down',
    unit: 'requests',
    file: 'test/e2e/secrets-fuzz.test.ts',
    variable: 'SECRETS_FUZZ',
    counts: { long: 10_000 },
  },
  {
    id: 'SPEND',
    title: 'spend limits of three scopes, while the gateway is killed and limits and prices change',
    unit: 'requests',
    file: 'test/e2e/spend-kills.test.ts',
    variable: 'SPEND_REQUESTS',
    counts: { long: 20_000 },
  },
  {
    id: 'Q1',
    title: 'mistakes planted in the source, one at a time',
    unit: 'of them, each noticed by its tests',
    file: 'test/planted/planted.test.ts',
    variable: 'PLANTED_FAULTS',
    counts: { long: plantedFaults.length },
  },
];

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the test to its end and tells whether it has passed. What it says goes to standard error. */
export const passes = async ({ file, variable }: LongTest, count: number): Promise<boolean> => {
  const child = spawn('npx', ['vitest', 'run', '--config', 'test/vitest.config.ts', file], {
    cwd: root,
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
    env: { ...process.env, [variable]: String(count) },
  });
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  return code === 0;
};

const heads = ['test', 'what was run', 'failures'];

/** Its line in the table of test/README.md. */
export const passed = ({ id, title, unit }: LongTest, count: number): Row => ({
  id,
  count,
  cells: [`${id} ${title}`, `${grouped(count)} ${unit}`, '0'],
});

/** The table with a run in it, which replaces no larger one. */
export const withPassed = (table: string, run: Row): string => tableOf(merged(rowsIn(table), [run]), heads);
