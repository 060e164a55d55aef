import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { proveSecrets } from '../../src/app/secrets/known-secrets.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { loadSecrets } from '../../src/secrets/master-secrets.ts';
import { workbench } from './run.ts';

const bench = workbench();
const secretsDir = `${bench.env.DATA_DIR}.secrets`;
const said = ['--actor', 'Mo', '--reason', 'the disk of the secrets is gone'];

beforeAll(async () => {
  await bench.json('org', 'create', '--new-store', '--name', 'Acme');
});
afterAll(bench.clean);

const onStore = async <T>(work: (log: Awaited<ReturnType<typeof existingEventLog>>) => Promise<T>): Promise<T> => {
  const log = await existingEventLog(readConfig(bench.env));
  return work(log).finally(log.close);
};
const lastActor = () =>
  onStore(async ({ store }) => {
    let last: unknown;
    for await (const { metadata } of store.read('log-secrets')) last = metadata.actor;
    return last;
  });
const by = (command: string) => ({
  type: 'operator',
  id: 'jo',
  command,
  name: 'Mo',
  reason: 'the disk of the secrets is gone',
});

describe('secrets that are lost', () => {
  test('are made anew by somebody, for a reason, and the next step is said', async () => {
    rmSync(secretsDir, { recursive: true });
    const made = await bench.weir(['secrets', 'create', '--yes', ...said]);
    expect(made).toMatchObject({ code: 0, err: expect.stringContaining('weir admin-key bootstrap ORG --yes') });
    expect(await lastActor()).toMatchObject(by('weir secrets create'));
  });
  test('are refused with what is likely first and what destroys last, until others are accepted by somebody', async () => {
    rmSync(secretsDir, { recursive: true });
    const others = loadSecrets(secretsDir);
    const refusal = await onStore(({ store }) =>
      proveSecrets(store, systemClock, others).catch((error: Error) => error.message),
    );
    const parts = ['of another installation', 'give this one its own back', 'weir secrets accept'];
    for (const line of String(refusal).split('\n').slice(1)) {
      const places = parts.map((part) => line.indexOf(part));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places[0]).toBeGreaterThan(0);
    }
    expect(refusal).toMatch(/\n {2}PEPPER: .*\n {2}MASTER_KEY: /);
    expect((await bench.weir(['secrets', 'accept', '--yes', ...said])).code).toBe(0);
    expect(await lastActor()).toMatchObject(by('weir secrets accept'));
  });
});

describe('a pepper that is replaced and dropped', () => {
  const own = workbench();
  const by = (command: string, reason: string) => ({
    type: 'operator',
    id: 'jo',
    host: 'here',
    command,
    name: 'Mo',
    reason,
  });
  const recorded = async () => {
    const { store, close } = await existingEventLog(readConfig(own.env));
    const found: [unknown, unknown][] = [];
    for await (const { metadata, data } of store.read('log-secrets')) found.push([metadata.actor, data.peppers]);
    await close();
    return found;
  };
  let key: string;
  let project: string;
  let created: string;

  beforeAll(async () => {
    await own.json('org', 'create', '--new-store', '--name', 'Acme');
    [{ id: project }] = (await own.json('project', 'create', '--name', 'p')) as [{ id: string }];
    [{ id: key }] = (await own.json('key', 'create', project, '--name', 'old')) as [{ id: string }];
    created = new Date().toISOString();
  });
  afterAll(own.clean);

  test('is recorded at once, with who did it, why, and which peppers are accepted since', async () => {
    const rotated = await own.weir(['secrets', 'rotate-pepper', '--actor', 'Mo', '--reason', 'yearly']);
    expect(rotated).toMatchObject({
      code: 0,
      err: expect.stringContaining('do not accept keys that this command line makes'),
    });
    const dropped = await own.weir(['secrets', 'drop-pepper', '--yes', '--actor', 'Mo', '--reason', 'all replaced']);
    expect(dropped).toMatchObject({ code: 0, err: expect.stringContaining('go on accepting the keys') });
    expect(dropped.err).not.toContain('do not accept');
    const [first, rotation, drop, ...more] = await recorded();
    expect(more).toEqual([]);
    const [old] = first![1] as string[];
    expect(rotation).toEqual([by('weir secrets rotate-pepper', 'yearly'), [expect.not.stringMatching(old!), old]]);
    expect(drop).toEqual([by('weir secrets drop-pepper', 'all replaced'), [(rotation![1] as string[])[0]]]);
  });

  test('asks first, and says that running gateways go on', async () => {
    await own.weir(['secrets', 'rotate-pepper']);
    const asked = await own.weir(['secrets', 'drop-pepper']);
    expect(asked).toMatchObject({
      code: 1,
      err: expect.stringContaining('those that run do until they are started anew'),
    });
    expect((await recorded()).at(-1)![1]).toHaveLength(2);
  });

  test('leaves keys of which nothing says that they could act', async () => {
    const [shown] = await own.json('key', 'show', key);
    expect(shown).toMatchObject({ status: 'lost' });
    expect(await own.json('key', 'list', '--status', 'active')).toEqual([]);
    expect(await own.json('key', 'list')).toMatchObject([{ id: key, status: 'lost' }]);
    const [acts] = await own.json('audit', 'keys', project);
    expect(acts).toMatchObject({
      acts: 'no',
      effective: { status: 'lost', because: 'secret' },
      cause: { id: 'log-secrets@2', type: 'log.secrets_known', actor: { operator: { reason: 'all replaced' } } },
    });
    const { out } = await own.weir(['audit', 'keys', project]);
    expect(out).toMatch(/keys +1: 0 could act, 1 could not\n/);
    expect(out).toMatch(/could act +no: the pepper/);
    expect(out.replaceAll(/\n +/g, ' ')).toContain(
      '(all replaced); a gateway that ran took it until it was started anew',
    );
    expect(await own.json('audit', 'state', key)).toMatchObject([{ status: 'active', effective: { status: 'lost' } }]);
    expect((await own.weir(['audit', 'state', key])).out).toMatch(/effective +lost: the pepper/);
    expect((await own.weir(['audit', 'state', project])).out).toMatch(/usable keys +0\n/);
  });

  test('does not change what could act before', async () => {
    expect(await own.json('audit', 'keys', project, '--at', created)).toMatchObject([{ acts: 'yes' }]);
    expect(await own.json('audit', 'state', key, '--at', created)).toMatchObject([{ effective: { status: 'active' } }]);
  });

  test('is unknown of a past moment where nothing is recorded, and certain now', async () => {
    rmSync(`${own.env.DATA_DIR}.secrets`, { recursive: true });
    const [{ id: later }] = (await (async () => {
      await own.weir(['secrets', 'create', '--yes']);
      return own.json('key', 'create', project, '--name', 'later');
    })()) as [{ id: string }];
    const between = new Date().toISOString();
    rmSync(`${own.env.DATA_DIR}.secrets`, { recursive: true });
    loadSecrets(`${own.env.DATA_DIR}.secrets`);
    const actsOf = async (...args: string[]) =>
      (await own.json('audit', 'keys', project, ...args)).find(({ id }) => id === later);
    expect(await actsOf('--at', between)).toMatchObject({
      acts: 'unknown',
      effective: { status: 'unknown' },
      cause: null,
    });
    expect(await actsOf()).toMatchObject({ acts: 'no', effective: { status: 'lost' }, cause: null });
    expect((await own.weir(['audit', 'keys', project, '--at', between])).out).toContain('of 1 it is unknown');
  });
});
