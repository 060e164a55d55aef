import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { workbench } from './run.ts';

let bench: ReturnType<typeof workbench>;
beforeEach(() => {
  bench = workbench();
});
afterEach(() => bench.clean());

const create = ['org', 'create', '--name', 'Acme'];
const made = () => existsSync(bench.env.DATA_DIR);

describe('a folder without a store', () => {
  test('is said before one is made there, where nobody can be asked', async () => {
    const { code, err } = await bench.weir(create);
    expect([code, made()]).toEqual([1, false]);
    const store = join(bench.env.DATA_DIR, 'eventstore');
    expect(err).toContain(`There is no event store in ${store} (DATA_DIR, EVENTSTORE_URL). This makes one there`);
    expect(err).toContain('and secrets in');
    expect(err).toContain('Say --new-store to go ahead.');
  });

  test('stays as it is without a yes', async () => {
    const { code, err } = await bench.weir(create, 'no');
    expect([code, err, made()]).toEqual([1, 'Nothing was changed.\n', false]);
  });

  test.each([
    ['a yes', create, 'yes'],
    ['an option', [...create, '--new-store'], undefined],
  ])('gets one with %s, and the next organization needs none', async (_, argv, answer) => {
    expect((await bench.weir(argv, answer)).code).toBe(0);
    expect((await bench.weir(create)).code).toBe(0);
  });
});
