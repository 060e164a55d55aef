import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reloader } from '../../src/app/reload.ts';
import { readConfig } from '../../src/config/config.ts';
import { onSignal } from '../../src/telemetry.ts';

const file = join(mkdtempSync(join(tmpdir(), 'weir-reload-')), 'models.json');
const write = (...ids: readonly string[]): void => {
  const models = ids.map((id) => ({
    id,
    context_length: 8_000,
    max_output_length: 100,
    upstream: { kind: 'simulated' },
  }));
  writeFileSync(file, JSON.stringify({ models }));
};

let did: string[] = [];
let unhear = (): void => {};
beforeEach(() => {
  did = [];
  unhear = onSignal((name) => void did.push(name));
});
afterEach(() => unhear());

const stage = (env: Record<string, string>, declare = async () => {}) =>
  reloader({
    config: readConfig(env),
    env,
    look: async () => void did.push('looked'),
    declare: async (prices) => {
      await declare();
      did.push(`declared ${prices.map(({ model }) => model)}`);
    },
    use: (models) => void did.push(`used ${models.map(({ model }) => model.id)}`),
  });

describe('a reload', () => {
  test('has the prices in the log before the models are used', async () => {
    write('one', 'two');
    await stage({ MODELS_FILE: file })();
    expect(did).toEqual(['looked', 'declared one,two', 'used one,two', 'models.reloaded']);
  });

  test('changes nothing where the prices cannot be written', async () => {
    const away = async () => {
      throw new Error('the store is away');
    };
    await stage({ MODELS_FILE: file }, away)();
    expect(did).toEqual(['looked', 'models.refused']);
  });

  test('looks at what is followed where there is no file of models', async () => {
    await stage({})();
    expect(did).toEqual(['looked']);
  });

  test('waits for the one before', async () => {
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    write('one');
    const reload = stage({ MODELS_FILE: file }, () => held);
    const both = [reload(), reload()];
    write('two');
    go();
    await Promise.all(both);
    expect(did.filter((each) => each.startsWith('used')).at(-1)).toBe('used two');
    expect(did.filter((each) => each === 'models.reloaded')).toHaveLength(2);
  });
});
