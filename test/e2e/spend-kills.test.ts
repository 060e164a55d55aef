// Lane: rest: a torture of the gateway as a process
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import { settlementsBetween } from '../../src/usage/settlements.ts';
import { seed } from '../support/seed.ts';
import { type Random, seeded } from '../torture/random.ts';
import { call, createKey, errorOf } from './calls.ts';
import { eventually, freshDir, type Server, startServer } from './server.ts';

const requests = Number(process.env.SPEND_REQUESTS ?? 1_500);
// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 240_000 + requests * 60 });

const messages = [{ role: 'user', content: 'Hello' }];
const clients = 24;
const atOnce = 200;
const maxTokens = 40;
/** Of the slow model; of the other about as many. */
const slowTokens = 30;
const cent = 10_000;

/** Micro-dollars for ⌈5 / 3⌉ + 8 tokens of input and so many of output; `times` is the price. */
const costOf = (output: number, times: number): number => (10 + output * 10) * times;

const modelsFile = join(dirname(freshDir()), 'models.json');
const declare = (times: number): void => {
  const upstream = {
    kind: 'simulated',
    output_tokens: slowTokens,
    output_tokens_variation: 0.9,
    first_token_ms: 5,
    token_ms: 1,
  };
  const pricing = { prompt: `${times / 1_000_000}`, completion: `${times / 100_000}` };
  const model = { id: 'm', context_length: 100_000, max_output_length: 1_000, pricing, upstream };
  const slow = { ...model, id: 'slow', upstream: { ...upstream, output_tokens_variation: 0, token_ms: 100 } };
  writeFileSync(modelsFile, JSON.stringify({ models: [model, slow] }));
};
const env = { MODELS_FILE: modelsFile, PROJECTION_WAIT_MS: '30000' };

const month = (micros: number) => ({ currency: 'USD', interval: 'month', threshold_amount: micros / cent });

const scopes = ['key', 'project', 'organization'] as const;
type Sums = Record<(typeof scopes)[number], number>;

/** A gateway with limits of three scopes, and what its clients know. */
class Site {
  server!: Server;
  limited!: { readonly id: string; readonly value: string };
  readonly random: Random;
  /** Output tokens of whole answers, by the ids of their requests. */
  readonly answered = new Map<string, number>();
  limits: Sums = { key: 0, project: 0, organization: 0 };
  /** Charged, as far as the test knows. */
  sums: Sums = { key: 0, project: 0, organization: 0 };
  times = 1;
  asked = 0;
  refused = 0;

  constructor(random: Random) {
    this.random = random;
  }

  async open(): Promise<void> {
    declare(this.times);
    this.server = await startServer({ env });
    this.limited = await createKey(this.server, this.server.first.project_id, { name: 'limited' });
  }

  get keys(): readonly string[] {
    return [this.limited.value, this.server.first.project_api_key];
  }

  async limit(to: Sums): Promise<void> {
    const project = `/v1/organization/projects/${this.server.first.project_id}`;
    const ofKey = { spend_limit: { amount: to.key / 1_000_000, interval: 'total' } };
    for (const [path, body] of [
      [`${project}/api_keys/${this.limited.id}`, ofKey],
      [`${project}/spend_limit`, month(to.project)],
      ['/v1/organization/spend_limit', month(to.organization)],
    ] as const)
      expect((await call(this.server, 'POST', path, { body })).status).toBe(200);
    this.limits = to;
  }

  async price(times: number): Promise<void> {
    this.times = times;
    declare(times);
    const told = () => this.server.log().filter(({ msg }) => msg === 'models.reloaded').length;
    const before = told();
    this.server.spawned.child.kill('SIGHUP');
    await eventually(() => (told() > before ? true : undefined));
  }

  /** One request; some have no maximum, some are streams, and some leave before the end. @returns the status, if it came */
  async ask(key = this.random.pick(this.keys), isPlain = false): Promise<number | undefined> {
    const { next } = this.random;
    const leaving = new AbortController();
    const timer = !isPlain && next() < 0.1 ? setTimeout(() => leaving.abort(), next() * 25) : undefined;
    const stream = !isPlain && next() < 0.5;
    const body = { model: 'm', ...((isPlain || next() < 0.7) && { max_tokens: maxTokens }), stream, messages };
    try {
      const response = await fetch(`${this.server.baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: leaving.signal,
      });
      const text = await response.text();
      if (response.status === 200 && !stream)
        this.answered.set(response.headers.get('x-request-id')!, JSON.parse(text).usage.completion_tokens);
      if (response.status === 402) this.#expectNoRoom(JSON.parse(text));
      return response.status;
    } catch (error) {
      // It has left, or the gateway was killed.
      if (error instanceof Error && error.name === 'AssertionError') throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves, once it is in flight, to what waits for its end. */
  async slow(key: string): Promise<() => Promise<unknown>> {
    const response = await fetch(`${this.server.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'slow', max_tokens: maxTokens, stream: true, messages }),
    });
    expect(response.status).toBe(200);
    return () => response.text();
  }

  /** A refusal says what is left, and that is less than what the request may cost. */
  #expectNoRoom(body: Record<string, unknown>): void {
    this.refused += 1;
    const { code, message } = errorOf(body);
    expect(code).toMatch(/^(api_key|project|organization)_spend_limit_exceeded$/);
    const [, left, needed] = /Beside requests in flight \$([\d.e-]+) are left, and .* may cost \$([\d.e-]+)\./.exec(
      String(message),
    )!;
    expect(Number(left)).toBeLessThan(Number(needed));
  }

  /** Asks until so many were asked, with `clients` at a time, or until the gateway is gone. */
  async askUpTo(goal: number, isOver: () => boolean): Promise<void> {
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (!isOver() && this.asked++ < goal) await this.ask();
      }),
    );
  }

  /** What the log has, with the gateway ended meanwhile. Its first act after a kill was to settle what was in flight. */
  async settlements(): Promise<Settlement[]> {
    await this.server.stop();
    const log = await existingEventLog(readConfig(this.server.env));
    const found: Settlement[] = [];
    const now = Date.now();
    for await (const each of settlementsBetween(log.store, now - 24 * 3_600_000, now)) found.push(each);
    await log.close();
    await this.start();
    return found;
  }

  async start(): Promise<void> {
    this.server = await startServer({ dataDir: this.server.dataDir, env });
  }

  sumsOf(found: readonly Settlement[]): Sums {
    const sum = (of: (each: Settlement) => boolean): number =>
      found.filter(of).reduce((all, each) => all + each.micro_dollars, 0);
    const { project_id: project, organization_id: organization } = this.server.first;
    return {
      key: sum((each) => each.key_id === this.limited.id),
      project: sum((each) => each.project_id === project),
      organization: sum((each) => each.organization_id === organization),
    };
  }
}

const raised = ({ between }: Random, sums: Sums): Sums => {
  const above = (sum: number): number => (Math.ceil(sum / cent) + between(3, 30)) * cent;
  // Limits that are set late have their part of it.
  return { key: above(sums.key), project: above(sums.project), organization: above(sums.organization) + 30 * cent };
};

const inFlight = 20;
/** Whose limit is in the way of the requests in flight, and whose is set then. */
const orders = [
  ['organization', 'key'],
  ['organization', 'project'],
  ['project', 'key'],
  ['key', 'project'],
  ['key', 'key'],
  ['none', 'key'],
] as const;
type Order = (typeof orders)[number];

interface Late {
  readonly order: Order;
  readonly id: string;
  readonly limit: number;
  /** Charged beyond the limit, because it was asked with none in its way. */
  readonly exempt: number;
}

/**
 * Sets, takes away and sets again the limit of a new project or its key while slow requests of it are in flight, and spends what is
 * left at once.
 */
const setLate = async (site: Site, order: Order): Promise<Late> => {
  const { server, times } = site;
  const [there, scope] = order;
  const send = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await call(server, method, `/v1/organization${path}`, body && { body });
    expect([order, answer.status < 300]).toEqual([order, true]);
    return answer.body.id;
  };
  const project = String(await send('POST', '/projects', { name: order.join(' ') }));
  const key = await createKey(server, project, { name: 'late' });
  const set = (of: 'key' | 'project', micros: number | null): Promise<unknown> => {
    const path = `/projects/${project}${of === 'key' ? `/api_keys/${key.id}` : '/spend_limit'}`;
    if (of === 'project') return micros === null ? send('DELETE', path) : send('POST', path, month(micros));
    return send('POST', path, { spend_limit: micros && { amount: micros / 1_000_000, interval: 'total' } });
  };
  if (there === 'none') await send('DELETE', '/spend_limit');
  if (there === 'key' || there === 'project') await set(there, 100 * cent);
  const ends = await Promise.all(Array.from({ length: inFlight }, () => site.slow(key.value)));
  const limit = Math.ceil((inFlight * costOf(maxTokens, times)) / cent + 1) * cent;
  for (const micros of [50 * cent, null, limit]) await set(scope, micros);
  if (there === 'none') await send('POST', '/spend_limit', month(site.limits.organization));
  const spend = async (): Promise<void> => {
    const answers = await Promise.all(Array.from({ length: clients }, () => site.ask(key.value, true)));
    if (answers.includes(200)) await spend();
  };
  await spend();
  await Promise.all(ends.map((end) => end()));
  await spend();
  const id = scope === 'key' ? key.id : project;
  return { order, id, limit, exempt: there === 'none' ? inFlight * costOf(slowTokens, times) : 0 };
};

const setAllLate = async (site: Site): Promise<readonly Late[]> => {
  const within = orders.filter(([there]) => there !== 'none');
  const without = orders.filter(([there]) => there === 'none');
  // Without a limit of the organization the others would be asked with none in their way.
  const found = await Promise.all(within.map((order) => setLate(site, order)));
  for (const order of without) found.push(await setLate(site, order));
  return found;
};

const expectWithin = (lates: readonly Late[], found: readonly Settlement[]): void => {
  for (const { order, id, limit, exempt } of lates) {
    const sum = found
      .filter(({ key_id, project_id }) => key_id === id || project_id === id)
      .reduce((all, each) => all + each.micro_dollars, 0);
    expect(sum, order.join(' ')).toBeLessThanOrEqual(limit + exempt);
    expect(sum, order.join(' ')).toBeGreaterThan(limit - costOf(maxTokens, 3));
  }
};

/** Everything at once: many requests, one more price, limits that are lowered and raised again, and a kill at the end. */
const torment = async (site: Site, goal: number): Promise<void> => {
  let isOver = false;
  await Promise.all(Array.from({ length: atOnce }, () => site.ask()));
  site.asked += atOnce;
  const middle = site.asked + (goal - site.asked) / 2;
  const asking = site.askUpTo(goal, () => isOver);
  while (site.asked < middle) await new Promise((resolve) => setTimeout(resolve, 5));
  await site.price(site.times === 1 ? 3 : 1);
  const { limits } = site;
  await site.limit({ ...limits, organization: cent });
  // Less than what was spent: nothing passes from the answer on.
  const after = await Promise.all(Array.from({ length: 5 }, () => site.ask(site.keys[0], true)));
  if (site.sums.organization >= cent) expect(after).toEqual(Array(5).fill(402));
  await site.limit(limits);
  while (site.asked < goal) await new Promise((resolve) => setTimeout(resolve, 5));
  await site.server.kill();
  isOver = true;
  await asking;
  await site.start();
};

/** What the clients were told is what was charged, at the price before or after the change. */
const expectAsAnswered = ({ answered }: Site, found: readonly Settlement[]): void => {
  const byId = new Map(found.map((each) => [each.request_id, each]));
  for (const [id, output] of answered) {
    const { output_tokens, micro_dollars } = byId.get(id)!;
    expect(output_tokens).toBe(output);
    expect([costOf(output, 1), costOf(output, 3)]).toContain(micro_dollars);
  }
};

/** One after another, so that what is left is known: each passes exactly if there is room for its dearest price. */
const fill = async (site: Site): Promise<void> => {
  const { sums } = site;
  for (let n = 0; n < 5; n++) {
    const left = Math.min(...scopes.map((scope) => site.limits[scope] - sums[scope]));
    const known = new Set(site.answered.keys());
    const status = await site.ask(site.keys[0], true);
    expect([sums, site.limits, status]).toEqual([sums, site.limits, left >= costOf(maxTokens, site.times) ? 200 : 402]);
    for (const [id, output] of site.answered)
      if (!known.has(id)) for (const scope of scopes) sums[scope] += costOf(output, site.times);
  }
};

test(`limits of three scopes are exceeded by nothing, and leave no room unused, under kills, seed ${seed}`, async () => {
  const random = seeded(seed);
  const site = new Site(random);
  await site.open();
  const kills = Math.max(3, Math.floor(requests / 1_000));
  for (let round = 1; round <= kills + 1; round++) {
    await site.limit(raised(random, site.sums));
    const lates = await setAllLate(site);
    await torment(site, Math.floor((requests * round) / (kills + 1)));
    const found = await site.settlements();
    site.sums = site.sumsOf(found);
    for (const scope of scopes) expect(site.sums[scope], scope).toBeLessThanOrEqual(site.limits[scope]);
    expectWithin(lates, found);
    expectAsAnswered(site, found);
    await fill(site);
  }
  expect(site.refused).toBeGreaterThan(requests / 20);
  expect(site.answered.size).toBeGreaterThan(requests / 20);
  await site.server.stop();
});
