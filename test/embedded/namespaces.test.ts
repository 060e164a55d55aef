import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { verifyStore } from '../../src/embedded/maintenance/verify.ts';
import { inOwnNamespace, noNamespace, onAnotherBoot } from '../torture/namespaces.ts';
import { Scene, type Store } from '../torture/scene.ts';
import { collect, connect, numbered, rejection } from './store-under-test.ts';

const why = noNamespace();
if (why !== undefined) process.stderr.write(`SKIPPED: one store, two containers: ${why}\n`);

let scene = new Scene();
afterEach(async () => {
  await scene.end();
  scene = new Scene();
});

const append = (store: Store, i: number) => connect(store.endpoint).appendToStream('shared-1', numbered(i));

/** The holder is untouched by the attempt of another, and the store is whole. */
const goesOn = async (dir: string, holder: Store, written: number): Promise<void> => {
  await append(holder, written);
  expect(await collect(connect(holder.endpoint).readStream('shared-1'))).toHaveLength(written + 1);
  expect(await verifyStore(dir)).toMatchObject({ verdict: 'ok' });
};

describe.skipIf(why !== undefined)('a store that is open in a container', () => {
  test.each([
    ['another container, with the same process id', inOwnNamespace, inOwnNamespace],
    ['the host', inOwnNamespace, []],
    ['a container, while the host has it', [], inOwnNamespace],
  ])('is refused to %s, until its holder is killed', async (_, first, second) => {
    const dir = scene.dir();
    const holder = await scene.start(dir, { under: first });
    await append(holder, 0);
    const refusal = await rejection(scene.start(dir, { under: second }));
    expect(refusal.message).toMatch(/refused StoreLocked \d+ The event store in \S+ is in use by process \d+\b/);
    await goesOn(dir, holder, 1);
    await holder.kill();
    const next = await scene.start(dir, { under: second });
    await goesOn(dir, next, 2);
  });
});

describe.skipIf(why !== undefined)('a store that another machine has open, by all that can be seen', () => {
  const elsewhere = (n: number) => {
    const file = join(scene.dir(), 'boot_id');
    writeFileSync(file, `${n}1111111-1111-1111-1111-111111111111\n`);
    return onAnotherBoot(file);
  };

  test('is refused while its claim is renewed, and taken over once that has stood still', {
    timeout: 60_000,
  }, async () => {
    const dir = scene.dir();
    const holder = await scene.start(dir, { under: elsewhere(1) });
    await append(holder, 0);
    const refusal = await rejection(scene.start(dir, { under: elsewhere(2) }));
    expect(refusal.message).toMatch(/refused StoreLocked \d+ .* is in use by process \d+ on host \S+\./);
    await goesOn(dir, holder, 1);
    await holder.kill();
    const next = await scene.start(dir, { under: elsewhere(2) });
    await goesOn(dir, next, 2);
  });
});
