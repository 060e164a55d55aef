import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import type { Details } from '../../src/tokens.ts';
import { settlementsBetween } from '../../src/usage/settlements.ts';
import { ledgerUpstream } from '../support/ledger-upstream.ts';
import { freshDir } from './process.ts';
import { type Server, startServer } from './server.ts';

/** US dollars for one token, and the same in whole pico-dollars. */
const pricing = {
  prompt: '0.000003',
  completion: '0.000015123456',
  input_cache_read: '0.0000003',
  input_cache_write: '0.00000375',
  input_cache_write_long: '0.000006',
  web_search: '0.01',
  service_tiers: { priority: { prompt: '0.000006' } },
};
const pico = { prompt: 3_000_000n, completion: 15_123_456n, input_cache_read: 300_000n, input_cache_write: 3_750_000n };
const further = { prompt: 6_000_000n, input_cache_write_long: 6_000_000n, web_search: 10_000_000_000n };

interface Counted {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly details?: Details | null | undefined;
}

/** What that costs, in micro-dollars: half a one upwards. */
export const costOf = ({ details, ...tokens }: Counted): number => {
  const { service_tier: tier, input_cache_write_long: long = 0, web_search: searches = 0 } = details ?? {};
  return Number(
    (BigInt(tokens.input_tokens) * (tier === 'priority' ? further.prompt : pico.prompt) +
      BigInt(tokens.output_tokens) * pico.completion +
      BigInt(tokens.cache_read_input_tokens) * pico.input_cache_read +
      BigInt(tokens.cache_creation_input_tokens - long) * pico.input_cache_write +
      BigInt(long) * further.input_cache_write_long +
      BigInt(searches) * further.web_search +
      500_000n) /
      1_000_000n,
  );
};

export interface UsageReport {
  readonly server: Server;
  readonly upstream: Awaited<ReturnType<typeof ledgerUpstream>>;
  readonly kills: number;
  /** Ids of requests whose whole answer a client has. */
  readonly complete: ReadonlySet<string>;
  /** Everything in the log, in order. */
  readonly settlements: () => Promise<Settlement[]>;
  /** The upstream's list, as a file. */
  readonly ledgerFile: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Requests from many clients, whole and streamed, some of which leave in the middle, to an upstream that fails now and
 * then, while the gateway is killed again and again (the test G3 of the accounts).
 */
export const usageUnderKills = async (options: {
  readonly requests: number;
  readonly kills: number;
  readonly random: () => number;
}): Promise<UsageReport> => {
  const { random } = options;
  const below = (n: number): number => Math.floor(random() * n);
  const upstream = await ledgerUpstream(random);
  const folder = dirname(freshDir());
  const modelsFile = join(folder, 'models.json');
  const reached = { kind: 'anthropic', base_url: upstream.url, api_key_env: 'UPSTREAM_KEY', private_network: true };
  const model = { id: 'm', context_length: 200_000, max_output_length: 64_000, pricing, upstream: reached };
  writeFileSync(modelsFile, JSON.stringify({ models: [model] }));
  const env = { MODELS_FILE: modelsFile, UPSTREAM_KEY: 'k' };
  let server = await startServer({ env });
  const complete = new Set<string>();
  let requests = 0;

  const ask = async (): Promise<void> => {
    const stream = random() < 0.5;
    const leavesAfterMs = random() < 0.1 ? below(25) : null;
    const leaving = new AbortController();
    const timer = leavesAfterMs === null ? undefined : setTimeout(() => leaving.abort(), leavesAfterMs);
    try {
      const response = await fetch(`${server.baseUrl}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.first.project_api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'm',
          max_tokens: 100,
          stream,
          messages: [{ role: 'user', content: 'Hello' }],
          tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }],
        }),
        signal: leaving.signal,
      });
      const text = await response.text();
      const isWhole = stream ? text.includes('event: message_stop') : response.status === 200;
      if (isWhole) complete.add(response.headers.get('request-id') ?? '');
    } finally {
      clearTimeout(timer);
    }
  };
  const clients = async (until: () => boolean): Promise<void> => {
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (!until()) {
          requests++;
          await ask().catch(() => new Promise((resolve) => setTimeout(resolve, 20)));
        }
      }),
    );
  };

  for (let kill = 1; kill <= options.kills; kill++) {
    const goal = Math.floor((options.requests * kill) / (options.kills + 1));
    let isKilled = false;
    const asking = clients(() => isKilled);
    while (requests < goal) await new Promise((resolve) => setTimeout(resolve, 1 + below(10)));
    await server.kill();
    isKilled = true;
    await asking;
    server = await startServer({ dataDir: server.dataDir, env });
  }
  await clients(() => requests >= options.requests);

  const ledgerFile = join(folder, 'ledger.ndjson');
  writeFileSync(ledgerFile, upstream.ledger.map(({ finished: _, ...line }) => `${JSON.stringify(line)}\n`).join(''));
  return {
    server,
    upstream,
    kills: options.kills,
    complete,
    ledgerFile,
    env: { ...server.env, ...env },
    async settlements() {
      const log = await existingEventLog(readConfig(server.env));
      try {
        const found: Settlement[] = [];
        const now = Date.now();
        for await (const each of settlementsBetween(log.store, now - 24 * 60 * 60_000, now)) found.push(each);
        return found.filter((each) => each.organization_id === server.first.organization_id);
      } finally {
        await log.close();
      }
    },
  };
};
