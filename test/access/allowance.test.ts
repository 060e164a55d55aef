import { expect, test } from 'vitest';
import { type Accounts, InferenceLease } from '../../src/data/access/leases.ts';
import type { ProjectPrincipal } from '../../src/data/access/principal.ts';
import { isRefusal } from '../../src/errors.ts';
import type { Metered } from '../../src/http/route.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';
import { manualClock } from '../inference/manual-clock.ts';
import { testWindows } from '../support/test-windows.ts';

const metered: Metered = {
  requestId: 'req_1',
  model: 'm',
  api: 'messages',
  estimatedTokens: 40,
  images: 0,
  searches: 0,
  maxTokens: 60,
  longest: 60,
};
const principal = { id: 'key_1', organizationId: 'org_1', projectId: 'proj_1' } as ProjectPrincipal;

const leaseOf = (accounts: Accounts) => {
  const clock = manualClock();
  const { inference: store } = testWindows();
  const lease = new InferenceLease(principal, clock, store, limitSubject('key_1', 'proj_1', 'org_1'), accounts);
  /** Requests in flight and tokens at key, project and organization. */
  const held = () =>
    store.scopes.map((scope, place) => {
      const id = ['key_1', 'proj_1', 'org_1'][place]!;
      const windows = inspect(store, scope, id, clock.monotonic())?.windows ?? [];
      const used = (name: string) => windows.find(({ metric }) => metric === name)?.used;
      return [used('concurrent_requests'), used('tokens_per_minute'), used('tokens_per_day') ?? 0];
    });
  return { lease, held };
};
const lack = { lacking: 'org_1', left: 0, needed: 1, resetsAt: null };
const nothing = [
  [0, 0, 0],
  [0, 0, 0],
  [0, 0, 0],
];

test.each([
  ['without credit', { whyFull: undefined, begin: () => lack }, 'insufficient_credits'],
  ['without room for accounts', { whyFull: 'they are full', begin: () => lack }, 'dependency_unavailable'],
])('a request %s holds nothing in the windows, even before it has ended', async (_, accounts, code) => {
  const { lease, held } = leaseOf(accounts);
  expect(held()).toEqual([
    [1, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
  ]);
  const refused = await lease.open(metered);
  expect(isRefusal(refused) && refused.code).toBe(code);
  expect(held()).toEqual(nothing);
  lease.end();
  expect(held()).toEqual(nothing);
});
