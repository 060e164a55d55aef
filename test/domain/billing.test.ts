import { describe, expect, test } from 'vitest';
import type { BillingEvent } from '../../src/domain/organization/billing.ts';
import { type OrganizationEvent, organization } from '../../src/domain/organization/organization.ts';
import { tierOfPlan, tierOfSpend } from '../../src/domain/organization/tiers.ts';
import { given } from '../support/given.ts';

const dollars = (n: number): number => n * 1_000_000;
const created: OrganizationEvent = { type: 'organization.created', name: 'Acme', created_at: 1 };
const paid = (amount: number, reference = 'r1'): BillingEvent => ({
  type: 'billing.credited',
  kind: 'payment',
  micro_dollars: dollars(amount),
  reference,
});
const tier = (from: number, to: number): BillingEvent =>
  ({ type: 'organization.tier_changed', from, to }) as BillingEvent;

describe('tiers', () => {
  test('are reached at the very micro-dollar', () => {
    const at = [
      [20, 1],
      [50, 2],
      [200, 3],
      [1000, 4],
      [5000, 5],
    ] as const;
    for (const [amount, reached] of at) {
      expect(tierOfSpend(dollars(amount) - 1)).toBe(reached - 1);
      expect(tierOfSpend(dollars(amount))).toBe(reached);
      expect(tierOfSpend(dollars(amount) + 1)).toBe(reached);
    }
    expect(tierOfSpend(0)).toBe(0);
    expect(tierOfSpend(-1)).toBe(0);
  });
  test('follow the subscription', () => {
    expect(['Free', 'Developer', 'Growth', 'Scale'].map((plan) => tierOfPlan(plan))).toEqual([0, 1, 2, 3]);
  });
});

describe('an entry', () => {
  test('of a payment credits, counts to what was paid, and raises the tier in the same append', () => {
    given(organization, [created])
      .when('topUp', { amount: dollars(20), reference: 'r1' })
      .then([paid(20), tier(0, 1)])
      .leaves({ data: { credits: dollars(20), lifetimePaid: dollars(20), tier: 1 } });
    given(organization, [created])
      .when('topUp', { amount: dollars(20) - 1, reference: 'r1' })
      .leaves({ data: { tier: 0 } });
  });
  test('adds up over payments', () => {
    given(organization, [created, paid(20), tier(0, 1)])
      .when('topUp', { amount: dollars(4980), reference: 'r2' })
      .then([paid(4980, 'r2'), tier(1, 5)]);
  });
  test('of a grant credits and counts to no tier', () => {
    given(organization, [created])
      .when('grant', { amount: dollars(5000), reference: 'g' })
      .then([{ type: 'billing.credited', kind: 'grant', micro_dollars: dollars(5000), reference: 'g' }])
      .leaves({ data: { credits: dollars(5000), lifetimePaid: 0, tier: 0 } });
  });
  test('of a refund subtracts from both, and can take a tier back', () => {
    given(organization, [created, paid(50), tier(0, 2)])
      .when('refund', { amount: dollars(31), reference: 'back' })
      .then([{ type: 'billing.refunded', micro_dollars: dollars(31), reference: 'back' }, tier(2, 0)])
      .leaves({ data: { credits: dollars(19), lifetimePaid: dollars(19), tier: 0 } });
  });
  test('with a reference that was there before is a no-op, and an error where it says something else', () => {
    const subscribed: BillingEvent = {
      type: 'billing.subscription_updated',
      plan: 'Scale',
      micro_dollars: dollars(1),
      reference: 's1',
    };
    const history = [created, paid(20), tier(0, 1), subscribed, tier(1, 3)];
    const same = given(organization, history);
    same.when('topUp', { amount: dollars(20), reference: 'r1' }).then([]);
    same.when('setSubscription', { plan: 'Scale', amount: dollars(1), reference: 's1' }).then([]);
    const refused = { refusal: { code: 'validation_failed', param: 'reference' } };
    same.when('topUp', { amount: dollars(20) + 1, reference: 'r1' }).refuses(refused);
    same.when('grant', { amount: dollars(20), reference: 'r1' }).refuses(refused);
    same.when('refund', { amount: dollars(20), reference: 'r1' }).refuses(refused);
    same.when('setSubscription', { plan: 'Growth', amount: dollars(1), reference: 's1' }).refuses(refused);
    same.when('setSubscription', { plan: 'Scale', amount: dollars(2), reference: 's1' }).refuses(refused);
    same.when('endSubscription', { reference: 's1' }).refuses(refused);
  });
  test('needs a whole amount above zero, and below a billion dollars', () => {
    for (const command of ['topUp', 'grant', 'refund'] as const) {
      for (const amount of [0, -1, 1.5, Number.NaN, 1e15 + 1]) {
        given(organization, [created])
          .when(command, { amount, reference: 'r' })
          .refuses({ refusal: { code: 'validation_failed', param: 'amount' } });
      }
      for (const amount of [1, 1e15])
        given(organization, [created]).when(command, { amount, reference: 'r' }).leaves({});
    }
  });
});

describe('a subscription', () => {
  test('sets the tier at once, adds no credit, and its fee counts as paid', () => {
    given(organization, [created])
      .when('setSubscription', { plan: 'Growth', amount: dollars(20), reference: 's' })
      .then([
        { type: 'billing.subscription_updated', plan: 'Growth', micro_dollars: dollars(20), reference: 's' },
        tier(0, 2),
      ])
      .leaves({ data: { credits: 0, lifetimePaid: dollars(20), subscription: 'Growth', tier: 2 } });
  });
  test('never lowers the tier that was paid for', () => {
    given(organization, [created, paid(1000), tier(0, 4)])
      .when('setSubscription', { plan: 'Developer', amount: dollars(1), reference: 's' })
      .then([{ type: 'billing.subscription_updated', plan: 'Developer', micro_dollars: dollars(1), reference: 's' }]);
  });
  test('may cost nothing', () => {
    given(organization, [created])
      .when('setSubscription', { plan: 'Growth', amount: 0, reference: 's' })
      .then([{ type: 'billing.subscription_updated', plan: 'Growth', micro_dollars: 0, reference: 's' }, tier(0, 2)])
      .leaves({ data: { subscription: 'Growth', lifetimePaid: 0, tier: 2 } });
  });
  test('ends, once, and its half of the tier drops at once', () => {
    const subscribed: BillingEvent = {
      type: 'billing.subscription_updated',
      plan: 'Scale',
      micro_dollars: dollars(25),
      reference: 's',
    };
    const end: BillingEvent = {
      type: 'billing.subscription_updated',
      plan: 'Free',
      micro_dollars: 0,
      reference: 'end',
    };
    given(organization, [created, subscribed, tier(0, 3)])
      .when('endSubscription', { reference: 'end' })
      .then([end, tier(3, 1)])
      .leaves({ data: { subscription: 'Free', tier: 1 } });
    given(organization, [created, subscribed, tier(0, 3), end, tier(3, 1)])
      .when('endSubscription', { reference: 'end' })
      .then([]);
  });
});

test('a suspended organization may pay; a closed one takes refunds alone', () => {
  const closed: OrganizationEvent = { type: 'organization.closed' };
  given(organization, [created, { type: 'organization.suspended' }])
    .when('topUp', { amount: 1, reference: 'r' })
    .leaves({ status: 'suspended' });
  given(organization, [created, paid(20), tier(0, 1), closed])
    .when('refund', { amount: dollars(20), reference: 'x' })
    .leaves({ status: 'closed', data: { tier: 0 } });
  for (const command of ['topUp', 'grant'] as const) {
    given(organization, [created, closed]).when(command, { amount: 1, reference: 'r' }).refuses({ status: 'closed' });
  }
});
