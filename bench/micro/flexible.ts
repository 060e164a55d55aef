/** rate-limiter-flexible's memory store doing the same ten counters: its fixed windows, one after the other. */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { limitsFor, type Scope } from '../../src/domain/organization/tiers.ts';
import { serveParent } from '../machine/parent.ts';
import { cpuMicros, type MicroSample, type Order, ownersOf, popularKeys, tokens } from './traffic.ts';

const [minute, day] = [60, 86_400];

interface Counter {
  readonly limiter: RateLimiterMemory;
  readonly scope: keyof ReturnType<typeof ownersOf>;
  readonly points: number;
}

/** Requests of a minute and a day and tokens of a minute at three scopes, and tokens of a day of the organization. */
const counters = (): readonly Counter[] => {
  const scopes: readonly Scope[] = ['key', 'project', 'organization'];
  const counter = (scope: Scope, name: string, points: number, duration: number, each: number): Counter => ({
    limiter: new RateLimiterMemory({ keyPrefix: `${scope} ${name}`, points, duration }),
    scope,
    points: each,
  });
  return scopes.flatMap((scope) => {
    const { rpm, rpd, tpm, tpd } = limitsFor(0, scope);
    const three = [
      counter(scope, 'rpm', rpm, minute, 1),
      counter(scope, 'rpd', rpd, day, 1),
      counter(scope, 'tpm', tpm, minute, tokens.taken),
    ];
    return tpd === null ? three : [...three, counter(scope, 'tpd', tpd, day, tokens.taken)];
  });
};

interface Filled {
  readonly all: readonly Counter[];
  readonly drawn: readonly ReturnType<typeof ownersOf>[];
  readonly processBytes: number;
}
let filled: Filled | undefined;

/** Whether all ten have let it pass. A refused request is counted by each, as here. */
const ask = async (all: readonly Counter[], owner: ReturnType<typeof ownersOf>): Promise<boolean> => {
  let passed = true;
  for (const { limiter, scope, points } of all) {
    try {
      await limiter.consume(owner[scope], points);
    } catch {
      passed = false;
    }
  }
  return passed;
};

const run = async ({ all, drawn }: Filled, operations: number): Promise<number> => {
  let admitted = 0;
  for (let n = 0; n < operations; n++) if (await ask(all, drawn[n & (drawn.length - 1)]!)) admitted++;
  return admitted;
};

serveParent(async (question) => {
  const { keys, warmUp, operations } = question as Order;
  if (!filled) {
    const before = process.memoryUsage().rss;
    const owners = Array.from({ length: keys }, (_, n) => ownersOf(n));
    const all = counters();
    for (const owner of owners) await ask(all, owner);
    const processBytes = (process.memoryUsage().rss - before) / keys;
    const drawn = Array.from(popularKeys(keys, 1 << 20), (key) => owners[key]!);
    filled = { all, drawn, processBytes };
  }
  await run(filled, warmUp);
  const before = cpuMicros();
  const admitted = await run(filled, operations);
  const nanoseconds = ((cpuMicros() - before) * 1000) / operations;
  const { processBytes } = filled;
  return { nanoseconds, admitted: admitted / operations, recordBytes: null, processBytes } satisfies MicroSample;
});
