import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workbench } from './run.ts';

const bench = workbench();
const typesOf = async (...args: string[]) => (await bench.json('audit', ...args)).map(({ type }) => type);
let organization: string;

beforeAll(async () => {
  [{ organization_id: organization }] = (await bench.json('org', 'create', '--new-store', '--name', 'Acme')) as [
    { organization_id: string },
  ];
  await bench.weir(['audit', 'rotate-key', '--yes', '--actor', 'Mo', '--reason', 'yearly']);
  await bench.weir(['secrets', 'rotate-pepper', '--actor', 'Mo', '--reason', 'a leak']);
  await bench.json('billing', 'top-up', organization, '--amount', '20', '--reference', 'inv', '--actor', 'Mo');
});
afterAll(bench.clean);

const ofTheLog = ['audit.key_rotated', 'log.secrets_known'];

describe('what an operator did to the log itself', () => {
  test.each([
    ['who', 'operator:Mo'],
    ['who', 'jo'],
    ['log', '--order', 'asc'],
    ['log', '--order', 'asc', '--actor', 'Mo'],
  ])('is in audit %s %s', async (...args) => {
    expect(await typesOf(...args)).toEqual(expect.arrayContaining([...ofTheLog, 'billing.credited']));
  });
  test('has its id, who and why, and can be proven by the id', async () => {
    const [rotated] = await bench.json('audit', 'log', '--type', 'audit.key_rotated');
    expect(rotated).toMatchObject({
      id: 'auditLog-keys@1',
      actor: { operator: { id: 'jo', name: 'Mo', reason: 'yearly', command: 'weir audit rotate-key' } },
    });
    const { out } = await bench.weir(['audit', 'who', 'operator:Mo']);
    expect(out).toMatch(/ log\.secrets_known\n +what +the log itself\n +peppers +\w{8}, \w{8}\n(.*\n)* +why +a leak\n/);
    expect(out).toContain('log-secrets@1');
  });
  test('belongs to no organization, and to no time, type or request that it is not of', async () => {
    expect(await typesOf('log', organization)).not.toContain('log.secrets_known');
    expect(await typesOf('log', '--resource', organization)).not.toContain('log.secrets_known');
    expect(await typesOf('log', '--to', '2020-01-01')).toEqual([]);
    expect(await typesOf('log', '--type', 'billing.credited')).toEqual(['billing.credited']);
    expect(await typesOf('log', '--limit', '1', '--type', ofTheLog[0]!, '--type', ofTheLog[1]!)).toEqual([ofTheLog[1]]);
  });
});

describe('who is asked for', () => {
  test.each(['jo', 'Mo', 'operator:jo', 'operator:Mo'])('may be %s', async (who) => {
    expect(await typesOf('log', '--actor', who)).toContain('billing.credited');
    expect(await typesOf('who', who)).toContain('billing.credited');
  });
  test('and did nothing is said', async () => {
    expect(await bench.weir(['audit', 'log', '--actor', 'nosuch'])).toMatchObject({
      code: 0,
      err: 'Nothing to show: no such entry is by nosuch.\n',
    });
    expect((await bench.weir(['audit', 'who', 'operator:nosuch'])).err).toBe(
      'No entry of that time is by operator nosuch: neither as the OS user nor as --actor.\n',
    );
  });
  test.each([
    ['--actor', 'akey_zzz', 'Give akey_…'],
    ['--actor', 'oat_zzz', 'A token acts under its client'],
    ['--resource', 'nosuch', '--resource: nosuch is none of org_…'],
    ['--request', 'zzz', '--request: zzz is none of req_…'],
    ['--project', 'nosuch', '--project: nosuch is none of proj_…'],
    ['--project', 'org_01jd0000000000000000000000', 'is none of proj_…'],
  ])('%s %s could be nobody', async (option, value, says) => {
    expect(await bench.weir(['audit', 'log', option, value])).toMatchObject({
      code: 64,
      err: expect.stringContaining(says),
    });
  });
});

test('types have the name of the event log, too', async () => {
  expect(await typesOf('log', '--type', 'admin_key.created')).toEqual(['admin_api_key.created']);
  const { code, err } = await bench.weir(['audit', 'log', '--type', 'nosuch']);
  expect([code, err]).toEqual([64, expect.stringContaining('log.secrets_known')]);
});
