// Lane: rest: two gateways at an event store
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { startRemoteStore } from '../support/tls-store.ts';
import { weirHere } from './here.ts';
import { eventually, freshDir, type Server, startServer } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** A balance may lag by so much (contract M.1). */
const mostMs = 5_000;
const secret = (): string => randomBytes(32).toString('hex');

let gateways: readonly [Server, Server];
let key: string;
let organization: string;

beforeAll(async () => {
  const store = await startRemoteStore();
  const modelsFile = join(dirname(freshDir()), 'models.json');
  const model = {
    id: 'paid',
    context_length: 200_000,
    max_output_length: 64_000,
    pricing: { prompt: '0.000001', completion: '0.00001' },
    access: { required_checks: ['credits'] },
    upstream: { kind: 'simulated' },
  };
  writeFileSync(modelsFile, JSON.stringify({ models: [model] }));
  const env = {
    EVENTSTORE_URL: store.url,
    MODELS_FILE: modelsFile,
    PEPPER: secret(),
    MASTER_KEY: secret(),
  };
  const first = await startServer({ env });
  gateways = [first, await startServer({ env })];
  ({ project_api_key: key, organization_id: organization } = first.first);
});

const get = async ({ baseUrl }: Server): Promise<{ readonly status: number; readonly micros: number }> => {
  const response = await fetch(`${baseUrl}/v1/credits`, { headers: { authorization: `Bearer ${key}` } });
  if (response.status !== 200) return { status: response.status, micros: Number.NaN };
  const { data } = (await response.json()) as { data: { total_usage: number } };
  return { status: 200, micros: Math.round(data.total_usage * 1_000_000) };
};

/** Asks for one answer. @returns what it costs, or its status where there is none */
const ask = async ({ baseUrl }: Server): Promise<{ readonly status: number; readonly micros: number }> => {
  const response = await fetch(`${baseUrl}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'paid', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const { usage } = (await response.json()) as { usage?: { input_tokens: number; output_tokens: number } };
  return { status: response.status, micros: usage ? usage.input_tokens + usage.output_tokens * 10 : 0 };
};

/** A key may look sixty times a minute. */
const betweenLooksMs = 400;
const shows = (gateway: Server, micros: number) =>
  eventually(async () => {
    if ((await get(gateway)).micros === micros) return true;
    await new Promise((resolve) => setTimeout(resolve, betweenLooksMs));
    return undefined;
  });

describe('two gateways on one store', () => {
  let charged = 0;

  test('know of each other’s charges within five seconds', async () => {
    const top = ['billing', 'grant', organization, '--amount', '0.02', '--reference', 'first'];
    expect((await weirHere(top, gateways[0].env)).code).toBe(0);
    const lags: number[] = [];
    for (let round = 0; round < 4; round++) {
      const [asked, other] = round % 2 === 0 ? gateways : [gateways[1], gateways[0]];
      const answer = await eventually(async () => {
        const tried = await ask(asked);
        return tried.status === 200 ? tried : undefined;
      });
      charged += answer.micros;
      const since = performance.now();
      await shows(other, charged);
      lags.push(performance.now() - since);
      await shows(asked, charged);
    }
    // The machine may have been busy with other things, but not each time.
    expect(Math.min(...lags)).toBeLessThan(mostMs);
  });

  test('spend one credit: what each takes is on both, and when it is gone both refuse', async () => {
    /** Eight clients of each, at once, until they are refused. */
    const spend = async (gateway: Server): Promise<void> => {
      for (;;) {
        const { status, micros } = await ask(gateway);
        charged += micros;
        if (status === 402) return;
        expect(status).toBe(200);
      }
    };
    await Promise.all(gateways.flatMap((gateway) => Array.from({ length: 8 }, () => spend(gateway))));
    await Promise.all(gateways.map((gateway) => shows(gateway, charged)));
    const least = 20_000;
    // Each held what it gave away, so that one of them has not gone beyond the credit; together they may, for a second or two.
    expect(charged).toBeGreaterThan(least - 1_000);
    expect(charged).toBeLessThanOrEqual(2 * least);
    for (const gateway of [...gateways, ...gateways]) expect(await ask(gateway)).toEqual({ status: 402, micros: 0 });
    expect(await Promise.all(gateways.map(get))).toEqual([
      { status: 200, micros: charged },
      { status: 200, micros: charged },
    ]);
  });
});
