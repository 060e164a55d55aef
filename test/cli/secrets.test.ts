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
