import { afterEach, beforeEach, expect, test } from 'vitest';
import { organizationRows } from '../../projections/organizations.ts';
import { type Freshness, freshness } from '../../src/kernel/projections/freshness.ts';
import { bearer, context, wholeGateway } from '../support/whole-gateway.ts';

let at: Awaited<ReturnType<typeof wholeGateway>>;
let key = '';
let organization = '';
let fresh: Freshness;
/** Deliveries to the read models wait for it. */
let held: Promise<void> | undefined;
let release = (): void => {};

beforeEach(async () => {
  at = await wholeGateway({
    delay: async (label) => (label === 'delivery' ? held : undefined),
    balanceAgeMs: () => fresh.reliedOn.ageMs,
  });
  const { store, clock, admin } = at;
  fresh = freshness({
    store,
    models: admin.models,
    clock,
    reliedOn: [organizationRows],
    mark: { isDoubted: false, whyAnother: async () => undefined },
    replaced: async () => {},
  });
  look();
  const made = await at.make.tenant();
  key = made.projectKey.value;
  organization = made.organizationId;
});
afterEach(async () => {
  release();
  held = undefined;
  await at.close();
});

const look = () => at.store.look(at.clock.monotonic());
const ask = () => at.call('GET', '/v1/credits', { headers: bearer(key) });
const shown = async (): Promise<string> => {
  const { status, body } = await ask();
  return status === 200 ? `200 ${body.data.total_credits}` : `${status} ${body.error.code}`;
};
const topUp = (reference: string) =>
  at.admin.aggregates.organization.dispatch(organization, 'topUp', { amount: 20_000_000, reference }, context);

test('a balance is shown until nothing has been heard of the store for five seconds', async () => {
  expect(await shown()).toBe('200 0');
  at.clock.at += 5000;
  expect(await shown()).toBe('200 0');
  at.clock.at += 1;
  const { status, body, headers } = await ask();
  expect([status, body.error.code, headers['retry-after']]).toEqual([503, 'credit_balance_unavailable', '1']);

  at.store.available = false;
  look();
  expect(await shown()).toBe('503 credit_balance_unavailable');
  at.store.available = true;
  look();
  expect(await shown()).toBe('200 0');
});

test('a store that answers is not enough while the rows are behind it', async () => {
  await at.settled(await topUp('first'));
  held = new Promise((resolve) => {
    release = resolve;
  });
  const { position } = await topUp('second');
  at.clock.at += 5001;
  look();
  expect(await shown()).toBe('503 credit_balance_unavailable');
  held = undefined;
  release();
  await at.settled({ position });
  look();
  expect(await shown()).toBe('200 40');
});
