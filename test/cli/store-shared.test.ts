import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { binaryEvent, type EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterEach, expect, test, vi } from 'vitest';
import { auditTreeHashes } from '../../projections/audit-tree.ts';
import { startCheckpoints } from '../../src/audit/log/checkpointer.ts';
import { ensureFirstKey, originOf, signersOf } from '../../src/audit/log/keys.ts';
import { checkpointStream } from '../../src/audit/log/leaf.ts';
import { systemClock } from '../../src/clock.ts';
import { whose } from '../../src/domain/streams.ts';
import { connect as connectStore } from '../../src/eventstoredb/connect.ts';
import { logIdOf } from '../../src/kernel/store/log-id.ts';
import { oursOf } from '../../src/kernel/store/ownership.ts';
import { secretsFrom } from '../../src/secrets/master-secrets.ts';
import { connect, openStore, until } from '../embedded/store-under-test.ts';
import { workbench } from './run.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

interface Verified {
  readonly covered: number;
  readonly checkpoints: number;
  readonly imported: number | null;
}

const MIB = 1024 * 1024;

/** A log of Weir's in a store that takes as much as KurrentDB does, and that another application writes to. */
const shared = async () => {
  const made = workbench();
  undo.push(made.clean);
  const { weir, env, dir } = made;
  const theirs = async (write: (client: EventStoreDBClient) => Promise<unknown>, isSigned = false) => {
    const store = join(env.DATA_DIR, 'eventstore');
    const { endpoint, close } = await openStore({ dir: store, limits: { appendBytes: 16 * MIB } });
    const client = connect(endpoint);
    await write(client);
    if (isSigned) await sign(endpoint, join(`${env.DATA_DIR}.secrets`, 'secrets.json'));
    await client.dispose();
    await close();
    // This opener does not say which transaction was the last, and the next one would miss some.
    rmSync(join(store, 'closed'), { force: true });
  };
  await theirs((client) => client.appendToStream('order-77', jsonEvent({ type: 'placed', data: {} })));
  expect(await weir(['org', 'create', '--name', 'Shared'])).toMatchObject({ code: 0 });
  await theirs(async (client) => {
    await client.appendToStream('project-77', jsonEvent({ type: 'begun', data: {} }));
    await client.appendToStream('order-77', binaryEvent({ type: 'scan', data: new Uint8Array(5 * MIB) }));
    await client.setStreamMetadata('order-77', { maxCount: 9 });
  }, true);
  const verified = async (of: object = {}) => {
    const before = { ...env };
    Object.assign(env, of);
    const { code, out } = await weir(['audit', 'verify', '--jsonl']);
    Object.assign(env, before);
    return { code, ...(JSON.parse(out) as Verified) };
  };
  return { weir, dir, verified };
};

/** Signs what there is, as a gateway does. */
const sign = async (endpoint: string, secretsFile: string): Promise<void> => {
  const store = connectStore({ endpoint });
  const secrets = secretsFrom(JSON.parse(readFileSync(secretsFile, 'utf8')) as Parameters<typeof secretsFrom>[0]);
  const origin = originOf(await logIdOf(store, systemClock));
  const signers = signersOf(origin, secrets.masterKey);
  await ensureFirstKey(store, signers, systemClock);
  const signed = await startCheckpoints({
    store,
    ours: oursOf(whose),
    origin,
    signers,
    clock: systemClock,
    head: () => undefined,
    leaves: auditTreeHashes({ get: () => undefined }),
    signed: () => {},
    replaced: () => {},
  });
  const isSigned = async (): Promise<boolean> => {
    for await (const { type } of store.read(checkpointStream)) if (type === 'audit.checkpoint') return true;
    return false;
  };
  await until(isSigned);
  await signed.close();
  await store.close();
};

test('an export holds what is Weir’s alone; imported, nothing is missed when it is verified', async () => {
  const { weir, dir, verified } = await shared();
  const file = join(dir, 'own.ndjson');
  expect(await weir(['store', 'export', '--out', file])).toEqual({
    code: 0,
    out: expect.stringMatching(/own\.ndjson holds \d+ events of \d+ streams\.\n$/),
    err: '4 events of other applications are left out; --all takes them along.\n',
  });
  expect(readFileSync(file, 'utf8')).not.toMatch(/"stream":"[^"]*-77"/);
  const data = join(dir, 'copied');
  const store = join(data, 'eventstore');
  expect(await weir(['store', 'import', '--in', file, '--dir', store])).toMatchObject({ code: 0, err: '' });
  const [before, after] = [
    await verified(),
    await verified({ DATA_DIR: data, SECRETS_DIR: join(dir, 'data.secrets') }),
  ];
  expect(before).toMatchObject({ findings: [], covered: expect.any(Number) });
  expect(before.covered).toBeGreaterThan(5);
  expect(after).toMatchObject({ findings: [], covered: before.covered, checkpoints: before.checkpoints });
  expect(after.imported).toBe(before.covered);
});

test('with --all it holds the whole store; an event that another store does not take is named, with what to do', async () => {
  const { weir, dir } = await shared();
  const file = join(dir, 'all.ndjson');
  expect(await weir(['store', 'export', '--all', '--out', file])).toMatchObject({ code: 0, err: '' });
  expect(readFileSync(file, 'utf8').match(/"stream":"(?:\$\$)?(?:order|project)-77"/g)).toHaveLength(4);
  expect(await weir(['store', 'import', '--in', file, '--dir', join(dir, 'copied')])).toEqual({
    code: 1,
    out: '',
    err:
      'The store refuses order-77 at revision 1, whose data has 5,242,880 bytes: it takes 1,048,576 at once. It is of ' +
      'another application: export again without --all, or import into a store that takes more, as KurrentDB does.\n',
  });
});
