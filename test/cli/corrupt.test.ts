// Lane: middle: it opens stores
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { readConfig } from '../../src/config/config.ts';
import { prevOf } from '../../src/kernel/aggregate/fold.ts';
import type { Recorded } from '../../src/kernel/store/store.ts';
import { workbench } from './run.ts';

const bench = workbench();
afterAll(bench.clean);

let organization: string;
let project: string;
/** One with an event that its chart refuses, one with an event that was not written behind the one before, one with a first of that kind. */
let refused: string;
let unlinked: string;
let unborn: string;

/** Writes what no gateway writes. */
const forge = async (stream: string, type: string, isLinked: boolean): Promise<void> => {
  const { store, close } = await existingEventLog(readConfig(bench.env));
  const events: Recorded[] = [];
  for await (const event of store.read(stream)) events.push(event);
  const last = events.at(-1);
  const { prev: _, ...metadata } = last?.metadata ?? { at: 5, actor: { type: 'operator', id: 'jo' }, v: 1 };
  const id = randomUUID();
  const links = { $correlationId: id, $causationId: id, ...(isLinked && prevOf(last ?? null)) };
  const event = { id, type, data: {}, metadata: { ...metadata, ...links } as Recorded['metadata'] };
  await store.append(stream, [event], last?.revision ?? 'no_stream');
  await close();
};

beforeAll(async () => {
  organization = String((await bench.json('org', 'create', '--new-store', '--name', 'Acme'))[0]?.organization_id);
  project = String((await bench.json('project', 'create', '--name', 'p'))[0]?.id);
  const key = async (name: string) => String((await bench.json('key', 'create', project, '--name', name))[0]?.id);
  [refused, unlinked, unborn] = [await key('laptop'), await key('other laptop'), 'key_00000000000000000000000000'];
  await bench.weir(['key', 'suspend', unlinked]);
  await forge(`projectKey-${refused}`, 'project_key.reactivated', true);
  await forge(`projectKey-${refused}`, 'project_key.suspended', true);
  await forge(`projectKey-${unlinked}`, 'project_key.reactivated', false);
  await forge(`projectKey-${unborn}`, 'project_key.suspended', true);
}, 60_000);

const why = 'projectKey is active and does not admit project_key.reactivated';
const named = () => `projectKey-${refused} is corrupt at revision 1 (project_key.reactivated): ${why}.\n`;
const namedToo = () =>
  `projectKey-${unlinked} is corrupt at revision 2 (project_key.reactivated): it was not written behind what revision 1 holds now.\n`;

const asked = async (...args: string[]) => {
  const { code, out, err } = await bench.weir(['audit', ...args, '--jsonl']);
  const told = out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, err, told };
};

describe('what the law cannot have admitted is named with its stream, its revision and why, and is no success', () => {
  test('a history shows it, and what is behind it', async () => {
    const { code, err, told } = await asked('history', refused);
    expect([code, err]).toEqual([1, named()]);
    expect(told.map(({ type, corrupt }) => [type, corrupt])).toEqual([
      ['project_key.created', undefined],
      ['project_key.reactivated', why],
      ['project_key.suspended', undefined],
    ]);
    const page = await bench.weir(['audit', 'history', unlinked]);
    expect([page.code, page.err]).toEqual([1, namedToo()]);
    expect(page.out).toMatch(/event 2: project_key\.reactivated\n +CORRUPT +it was not written behind/);
  });

  test('a state is the last one before it', async () => {
    for (const at of [[], ['--at', '0'], ['--at', '1'], ['--at', '2999-01-01']]) {
      const { code, err, told } = await asked('state', refused, ...at);
      expect([code, err.replace(/2999.*\n/, '')]).toEqual([1, named()]);
      expect(told).toMatchObject([{ id: refused, status: 'active' }]);
    }
    expect((await asked('state', unlinked)).told).toMatchObject([{ status: 'suspended' }]);
    const nothing = await asked('state', unborn);
    expect([nothing.code, nothing.told]).toEqual([1, []]);
    expect(nothing.err).toMatch(/^projectKey-key_0+ is corrupt at revision 0 .*\nNothing of key_0+ can be told\.\n$/);
  });

  test('all else is told: the log, what somebody did, the keys of a project, what has changed', async () => {
    for (const args of [
      ['log', organization],
      ['log'],
      ['who', 'operator:jo'],
      ['diff', organization, '--from', '2020-01-01'],
    ]) {
      const json = await asked(...args);
      expect(json.told.length).toBeGreaterThan(3);
      const page = await bench.weir(['audit', ...args]);
      expect(page.out).toContain('laptop');
      for (const { code, err } of [json, page])
        expect([code, err.split('\n').sort()]).toEqual([1, `${named()}${namedToo()}`.split('\n').sort()]);
    }
    const keys = await asked('keys', project);
    expect(keys.told.map(({ id, acts }) => [id, acts])).toEqual([
      [refused, 'yes'],
      [unlinked, 'no'],
    ]);
    expect([keys.code, keys.err.split('\n').length]).toEqual([1, 3]);
  });

  test('who asks for something else hears nothing of it', async () => {
    expect(await asked('state', organization)).toMatchObject({ code: 0, err: '' });
    expect(await asked('history', project)).toMatchObject({ code: 0, err: '' });
  });
});

test('a project and an organization of that kind do not keep the rest of the log from whoever asks', async () => {
  await forge(`project-${project}`, 'project.created', true);
  await forge(`organization-${organization}`, 'organization.reactivated', true);
  const { code, err, told } = await asked('log');
  expect([code, told.length]).toEqual([1, 9]);
  expect(err).toContain(`project-${project} is corrupt at revision 3 (project.created): project is active`);
  expect(err).toContain(
    `organization-${organization} is corrupt at revision 2 (organization.reactivated): organization`,
  );
});
