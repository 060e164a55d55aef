import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { fixedClock } from '../support/fixed-clock.ts';

const clock = fixedClock(1_700_000_000_000);
const env = { KEY: 'one', OTHER: 'two' };
const remote = (port: number, more = {}) => ({
  kind: 'openai',
  base_url: `http://127.0.0.1:${port}`,
  api_key_env: 'KEY',
  private_network: true,
  ...more,
});
const declared = (id: string, more: object) => ({ id, context_length: 8_000, max_output_length: 1_000, ...more });
const load = (models: readonly object[], environment = env) => loadModels(JSON.stringify({ models }), environment);

const stage = (models: readonly object[]) => {
  const connected = connect(load(models), { clock });
  onTestFinished(() => connected.close());
  return {
    connected,
    replace: (next: readonly object[], environment = env) => connected.replace(load(next, environment)),
  };
};

describe('models that are replaced', () => {
  const [one, two] = [declared('one', { upstream: remote(1) }), declared('two', { upstream: remote(2) })];

  test('are there from then on, in their order, and others are not', () => {
    const { connected, replace } = stage([one, two]);
    const { list } = connected;
    replace([declared('three', { upstream: remote(3) }), one]);
    expect([...connected.keys()]).toEqual(['three', 'one']);
    expect(connected.list.map(({ id }) => id)).toEqual(['three', 'one']);
    expect(connected.list).not.toBe(list);
  });

  test('keep all that they have where they are declared as before', () => {
    const { connected, replace } = stage([one, two]);
    const [before, other] = [connected.get('one'), connected.get('two')];
    replace([two, one]);
    expect([connected.get('one'), connected.get('two')]).toEqual([before, other]);
    expect(connected.get('one')).toBe(before);
  });

  test('keep their connections where something else of them has changed', () => {
    const { connected, replace } = stage([one]);
    const before = connected.get('one')!;
    replace([{ ...one, pricing: { prompt: '0.001', completion: '0.002' }, max_output_length: 900 }]);
    const after = connected.get('one')!;
    expect(after.upstream).toBe(before.upstream);
    expect(after.model.pricing.prompt).toBe('0.001');
  });

  test.each<[string, object, Record<string, string>]>([
    ['address', { upstream: remote(9) }, env],
    ['timeouts', { upstream: remote(1, { idle_timeout_ms: 7_000 }) }, env],
    ['credential', { upstream: remote(1) }, { ...env, KEY: 'another' }],
    ['context', { context_length: 9_000 }, env],
  ])('have another upstream where its %s has changed', (_, more, environment) => {
    const { connected, replace } = stage([one]);
    const before = connected.get('one')!.upstream;
    replace([{ ...one, ...more }], environment as typeof env);
    expect(connected.get('one')!.upstream).not.toBe(before);
  });

  test('keep the breakers of those of several upstreams that stay, whatever their weight is now', async () => {
    const parts = [
      { name: 'a', ...remote(1), priority: 0 },
      { name: 'b', ...remote(2), priority: 1 },
    ];
    const { connected, replace } = stage([declared('m', { upstreams: parts })]);
    const states = () => connected.get('m')!.health!().map(({ name, state }) => `${name} ${state}`);
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const signal = AbortSignal.timeout(5_000) as never;
    for (let n = 0; n < 6; n++)
      await connected
        .get('m')!
        .upstream.answer({ model: 'm', max_tokens: 5, messages }, { signal } as never)
        .catch(() => {});
    expect(states()).toEqual(['a open', 'b open']);
    replace([
      declared('m', {
        upstreams: [
          { ...parts[1], weight: 5 },
          { name: 'c', ...remote(3) },
        ],
      }),
    ]);
    expect(states()).toEqual(['b open', 'c closed']);
  });
});
