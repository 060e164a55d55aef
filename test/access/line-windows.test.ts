import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { AccessLog } from '../../src/data/access/access-log.ts';
import { apiKeyGate } from '../../src/data/access/authenticate.ts';
import type { Directory } from '../../src/data/access/directory.ts';
import type { Principal } from '../../src/data/access/principal.ts';
import { isRefusal } from '../../src/errors.ts';
import type { Access, Account, Head, RateLimitLease } from '../../src/http/route.ts';
import { digest, newToken } from '../../src/ids.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { restore } from '../../src/limits/snapshot/restore.ts';
import { drain } from '../limits/snapshots.ts';
import { memoryAccounts } from '../support/accounts.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { testWindows } from '../support/test-windows.ts';
import { upToDate } from '../support/up-to-date.ts';

vi.setConfig({ testTimeout: 60_000 });

const pepper = 'a'.repeat(64);
const messages = { credential: 'project', permission: 'inference:create' } as const;
const credits = { credential: 'project', permission: 'credits:read', limits: 'credits' } as const;
const aim = { method: 'POST', path: '/v1/messages' };
const wall = 1_790_000_000_000;

const metered = {
  requestId: 'req_1',
  model: 'm',
  api: 'messages',
  estimatedTokens: 0,
  images: 0,
  searches: 0,
  maxTokens: 0,
  longest: 0,
} as const;

/** A gate that knows some keys of one project: those of a line, or a single one as often. */
const gateOf = (lines: readonly (readonly string[])[]) => {
  const clock = fixedClock(1_000);
  const known = new Map<string, Principal>();
  const directory: Directory = {
    find: (hashed) => known.get(hashed) ?? null,
    committing() {},
    cleared() {},
    committed() {},
    refuse() {},
  };
  const tokens = lines.map((line) =>
    line.map((id) => {
      const token = newToken('p');
      known.set(digest(pepper, token), {
        kind: 'project_key',
        id,
        name: 'k',
        organizationId: 'org_1',
        organizationStatus: 'active',
        projectId: 'proj_1',
        projectName: 'p',
        allowedModels: null,
        modelAliases: null,
        tier: 0,
        permissions: new Set(['inference:create', 'credits:read']),
        expiresAt: null,
        ...(line.length > 1 && { windowsOf: line[0] === id ? '' : line[0]!, sharesWindows: true }),
      });
      return token;
    }),
  );
  let windows = testWindows(0);
  const open = () =>
    apiKeyGate({
      directory,
      peppers: [pepper],
      clock,
      accessLog: new AccessLog(clock),
      windows,
      knowledge: upToDate,
      accounts: memoryAccounts(),
    });
  let gate = open();
  let flights: { readonly pass: RateLimitLease<Principal>; readonly account: Account }[] = [];
  return {
    clock,
    get windows() {
      return windows;
    },
    /** What the caller is told: whether it passes, and every header of its windows. */
    async call(
      line: number,
      key: number,
      tokens_: number,
      access: Exclude<Access, { credential: 'none' }> = messages,
    ): Promise<string> {
      const head: Head = {
        requestId: 'req_1',
        method: 'POST',
        path: '/v1/messages',
        ip: '127.0.0.1',
        header: (name) =>
          name === 'authorization' ? `Bearer ${tokens[line]![key % tokens[line]!.length]}` : undefined,
      };
      const pass = gate.judge(head, access, aim);
      if (isRefusal(pass)) return `refused ${pass.code}`;
      if (pass.limited)
        return `limited ${JSON.stringify(pass.refusal({ tokens: tokens_, model: null }).headers)} ${pass.lines()}`;
      const opened = await pass.open({ ...metered, estimatedTokens: tokens_ });
      if (!isRefusal(opened)) flights.push({ pass: pass as RateLimitLease<Principal>, account: opened });
      return `${isRefusal(opened) ? opened.code : 'passes'} ${pass.lines()}`;
    },
    end(n: number, spent: number): void {
      const [flight] = flights.splice(n % Math.max(1, flights.length), 1);
      if (!flight) return;
      flight.account.spent = spent;
      flight.pass.end();
    },
    /** Everything in flight is over and the process begins anew, with what its snapshots hold. */
    restart(): void {
      for (const { pass } of flights) pass.end();
      flights = [];
      const next = testWindows(0);
      for (const family of ['inference', 'credits'] as const) {
        const chunks = drain(windows[family], wall + clock.at, clock.monotonic());
        restore(next[family], chunks, wall + clock.at, clock.monotonic());
      }
      windows = next;
      gate = open();
    },
  };
};

/** A line of three keys beside another key of the project, and the same with one key in the place of the line. */
const both = () => ({ line: gateOf([['key_1', 'key_2', 'key_3'], ['key_9']]), single: gateOf([['key_1'], ['key_9']]) });

type Op =
  | {
      readonly op: 'call';
      readonly line: number;
      readonly key: number;
      readonly tokens: number;
      readonly times: number;
    }
  | { readonly op: 'credits'; readonly key: number; readonly times: number }
  | { readonly op: 'end'; readonly n: number; readonly spent: number }
  | { readonly op: 'wait'; readonly ms: number }
  | { readonly op: 'restart' };

const ops: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('call' as const),
      line: fc.constantFrom(0, 0, 0, 1),
      key: fc.nat(2),
      tokens: fc.constantFrom(1, 500, 40_000, 90_000),
      times: fc.constantFrom(1, 3, 25),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('credits' as const), key: fc.nat(2), times: fc.constantFrom(1, 40) }),
  },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('end' as const), n: fc.nat(9), spent: fc.nat(2_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('wait' as const), ms: fc.constantFrom(1, 999, 20_000, 59_999, 600_000) }),
  },
  { weight: 1, arbitrary: fc.constant({ op: 'restart' as const }) },
);

test('keys of one line are counted exactly as if one key had sent all, over restarts too', async () => {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(ops, { minLength: 1, maxLength: 40 }), async (steps) => {
      const { line, single } = both();
      for (const step of steps) {
        for (let i = 0; i < ('times' in step ? step.times : 1); i++) {
          const did = [line, single].map((at) => {
            if (step.op === 'call') return at.call(step.line, step.key + i, step.tokens);
            if (step.op === 'credits') return at.call(0, step.key + i, 0, credits);
            if (step.op === 'end') at.end(step.n, step.spent);
            if (step.op === 'wait') at.clock.at += step.ms;
            if (step.op === 'restart') at.restart();
            return '';
          });
          const told = await Promise.all(did);
          expect(told[0]).toBe(told[1]);
          if (/^(limited|rate_limit)/.test(told[0]!)) refused += 1;
        }
      }
      const viewOf = (at: typeof line) =>
        (['key', 'project', 'organization'] as const).map((scope) =>
          inspect(
            at.windows.inference,
            scope,
            { key: 'key_1', project: 'proj_1', organization: 'org_1' }[scope],
            at.clock.at,
          ),
        );
      expect(viewOf(line)).toEqual(viewOf(single));
      for (const id of ['key_2', 'key_3']) expect(line.windows.inference.find(0, id)).toBeUndefined();
    }),
    { numRuns: 80 },
  );
  // Else nothing was put to the proof.
  expect(refused).toBeGreaterThan(20);
});
