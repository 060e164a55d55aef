// Lane: rest: it compiles programs against the SDKs
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { usageSettled, usageStream } from '../../src/domain/usage/usage-events.ts';
import { event } from '../support/events.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { settlement } from '../usage/some-request.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const run = promisify(execFile);
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const noon = Date.UTC(2026, 10, 20, 12);
const packages = ['openai', 'openai-6'];

let dir: string;
let at: Awaited<ReturnType<typeof wholeGateway>>;
let key: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'weir-types-'));
  symlinkSync(modules, join(dir, 'node_modules'));
  const options = { module: 'nodenext', strict: true, noEmit: true, exactOptionalPropertyTypes: true, types: [] };
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...options, skipLibCheck: true } }));
  at = await wholeGateway();
  at.clock.at = noon;
  const mine = await at.make.tenant();
  key = mine.adminKey.value;
  const of = { organization_id: mine.organizationId, project_id: mine.projectId, key_id: mine.projectKey.id };
  const data = { ...usageSettled([settlement('a', of), settlement('b', { ...of, model: 'other' })]) };
  const [recorded] = at.store.plant(usageStream(noon), [{ ...event(0), type: 'usage.settled', data }]);
  await at.settled(recorded!);
});
afterAll(async () => {
  await at.close();
  rmSync(dir, { recursive: true, force: true });
});

/** What the types of the older package do not have yet: its clients pass over it. */
const newer: Readonly<Record<string, readonly string[]>> = {
  'organization.usage.completions.result': ['api_source'],
  'organization.costs.result': ['api_source', 'user_id', 'quantity_unit'],
};
const known = (name: string, body: unknown): string =>
  JSON.stringify(body, function (this: { readonly object?: string }, key, value) {
    return name !== 'openai' && newer[this.object ?? '']?.includes(key) ? undefined : value;
  });

interface Answer {
  readonly type: string;
  readonly body: unknown;
}

/** What the compiler says where these answers stand for what the packages say that they are, by line. */
const compiled = async (answers: readonly Answer[]): Promise<string> => {
  const lines = packages.flatMap((name, p) =>
    answers.map(
      ({ type, body }, i) =>
        `export const _${p}_${i}: import('${name}').OpenAI.Admin.Organization.${type} = ${known(name, body)};`,
    ),
  );
  writeFileSync(join(dir, 'answers.ts'), `${lines.join('\n')}\n`);
  try {
    await run(join(modules, '.bin/tsc'), ['-p', dir], { cwd: dir });
    return '';
  } catch (error) {
    return String((error as { stdout?: string }).stdout);
  }
};

const ask = async (path: string) => {
  const { status, body } = await at.call('GET', `/v1/organization/${path}`, { headers: bearer(key) });
  expect([status, JSON.stringify(body)]).toEqual([200, expect.stringContaining('result"')]);
  return body;
};
const start = `start_time=${noon / 1000}`;
const all = ['project_id', 'api_key_id', 'user_id', 'api_source'].map((field) => `group_by[]=${field}`).join('&');

test('reports are what the types of the openai packages say, to the last field', async () => {
  const usage = ['', `&${all}&group_by[]=model&group_by[]=batch&group_by[]=service_tier`, '&bucket_width=1m&limit=1'];
  const costs = ['', `&${all}&group_by[]=line_item`];
  const answers = [
    ...(await Promise.all(usage.map((more) => ask(`usage/completions?${start}${more}`)))).map((body) => ({
      type: 'UsageCompletionsResponse',
      body,
    })),
    ...(await Promise.all(costs.map((more) => ask(`costs?${start}${more}`)))).map((body) => ({
      type: 'UsageCostsResponse',
      body,
    })),
  ];
  expect(await compiled(answers)).toBe('');
});

test('and the compiler notices a field that they do not have, one that is missing, and one of another type', async () => {
  const type = 'UsageCompletionsResponse';
  const page = await ask(`usage/completions?${start}`);
  const other = (change: object) => {
    const [bucket] = page.data;
    return { type, body: { ...page, data: [{ ...bucket, results: [{ ...bucket.results[0], ...change }] }] } };
  };
  const said = await compiled([other({ colour: 'red' }), other({ input_tokens: undefined }), other({ model: 7 })]);
  const lines = new Set([...said.matchAll(/^answers\.ts\((\d+),/gm)].map(([, line]) => line));
  expect(lines.size, said).toBe(3 * packages.length);
});
