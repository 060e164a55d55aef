// Lane: rest: a torture of the gateway as a process
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import { settlementsBetween } from '../../src/usage/settlements.ts';
import { seed } from '../support/seed.ts';
import { seeded } from '../torture/random.ts';
import { call, createKey } from './calls.ts';
import { freshDir, type Server, startServer } from './server.ts';

const requests = Number(process.env.SPEND_REQUESTS ?? 1_500);
// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 240_000 + requests * 60 });

const clients = 24;
const maxTokens = 40;
/** ⌈5 / 3⌉ + 8 tokens of input, at a micro-dollar, and the longest answer, at ten. */
const dearest = 10 + maxTokens * 10;

const settlements = async (server: Server): Promise<Settlement[]> => {
  const log = await existingEventLog(readConfig(server.env));
  try {
    const found: Settlement[] = [];
    const now = Date.now();
    for await (const each of settlementsBetween(log.store, now - 24 * 60 * 60_000, now)) found.push(each);
    return found;
  } finally {
    await log.close();
  }
};

/** Asks until the server is gone or so many were asked, now and then without waiting for the answer. */
const ask = async (server: Server, keys: readonly string[], random: () => number, next: () => boolean) => {
  while (next()) {
    const leaving = new AbortController();
    const timer = random() < 0.1 ? setTimeout(() => leaving.abort(), random() * 25) : undefined;
    const body = {
      model: 'm',
      ...(random() < 0.7 && { max_tokens: maxTokens }),
      stream: random() < 0.5,
      messages: [{ role: 'user', content: 'Hello' }],
    };
    const response = fetch(`${server.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys[Math.floor(random() * keys.length)]}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    await response.then((each) => each.text()).catch(() => new Promise((resolve) => setTimeout(resolve, 20)));
    clearTimeout(timer);
  }
};

test(`limits of three scopes are exceeded by nothing, and leave no room unused, under kills, seed ${seed}`, async () => {
  const { next: random } = seeded(seed);
  const file = join(dirname(freshDir()), 'models.json');
  const upstream = {
    kind: 'simulated',
    output_tokens: 30,
    output_tokens_variation: 0.9,
    first_token_ms: 5,
    token_ms: 1,
  };
  const pricing = { prompt: '0.000001', completion: '0.00001' };
  writeFileSync(
    file,
    JSON.stringify({ models: [{ id: 'm', context_length: 100_000, max_output_length: 1_000, pricing, upstream }] }),
  );
  const env = { MODELS_FILE: file, PROJECTION_WAIT_MS: '30000' };
  let server = await startServer({ env });
  const { project_id: project, organization_id: organization } = server.first;
  const limited = { name: 'limited', spend_limit: { amount: 0.02, interval: 'total' } };
  const key = await createKey(server, project, limited);
  const keys = [key.value, server.first.project_api_key];
  const kills = Math.max(3, Math.floor(requests / 1_000));
  /** Micro-dollars; raised when they are spent, so that they are in the way again and again. */
  let [ofProject, ofAll] = [40_000, 50_000];
  let asked = 0;
  for (let round = 1; round <= kills + 1; round++) {
    const month = (micros: number) => ({ currency: 'USD', interval: 'month', threshold_amount: micros / 10_000 });
    const places = { [`/v1/organization/projects/${project}`]: ofProject, '/v1/organization': ofAll };
    for (const [place, micros] of Object.entries(places))
      expect((await call(server, 'POST', `${place}/spend_limit`, { body: month(micros) })).status).toBe(200);
    const goal = Math.floor((requests * round) / (kills + 1));
    let isOver = false;
    const asking = Promise.all(
      Array.from({ length: clients }, () => ask(server, keys, random, () => !isOver && asked++ < goal)),
    );
    while (asked < goal) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.kill();
    isOver = true;
    await asking;
    // Its first act is to settle what was in flight.
    server = await startServer({ dataDir: server.dataDir, env });
    const spent = (of: (each: Settlement) => boolean, found: readonly Settlement[]): number =>
      found.filter(of).reduce((sum, each) => sum + each.micro_dollars, 0);
    await server.stop();
    const found = await settlements(server);
    server = await startServer({ dataDir: server.dataDir, env });
    const sums = {
      key: spent((each) => each.key_id === key.id, found),
      project: spent((each) => each.project_id === project, found),
      organization: spent((each) => each.organization_id === organization, found),
    };
    expect(sums.key).toBeLessThanOrEqual(20_000);
    expect(sums.project).toBeLessThanOrEqual(ofProject);
    expect(sums.organization).toBeLessThanOrEqual(ofAll);
    const left = Math.min(20_000 - sums.key, ofProject - sums.project, ofAll - sums.organization);
    const body = { model: 'm', max_tokens: maxTokens, messages: [{ role: 'user', content: 'Hello' }] };
    const { status } = await call(server, 'POST', '/v1/chat/completions', { key: key.value, body });
    expect(status, JSON.stringify({ sums, left })).toBe(left >= dearest ? 200 : 402);
    [ofProject, ofAll] = [ofProject + 40_000, ofAll + 30_000];
  }
  await server.stop();
});
