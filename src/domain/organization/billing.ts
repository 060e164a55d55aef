import { fault } from '../../errors.ts';
import type { State, Upcasts } from '../../kernel/aggregate/aggregate.ts';
import { PersistentMap } from '../../kernel/aggregate/persistent-map.ts';
import { type Tier, type TierTable, tierOfPlan, tierOfSpend } from './tiers.ts';

/** The ledger of an organization (contract B.1, F.7), in whole micro-dollars. */
export interface Ledger {
  /** Payments and subscription fees less refunds; decides the spend tier. */
  readonly lifetimePaid: number;
  readonly credits: number;
  readonly subscription: BillingPlan;
  readonly tier: Tier;
  /** The content of each entry by its reference, which counts once. */
  readonly references: PersistentMap<string>;
}

export const plans = ['Free', 'Developer', 'Growth', 'Scale'] as const;
export type BillingPlan = (typeof plans)[number];

export type BillingEvent =
  | {
      readonly type: 'billing.credited';
      readonly kind: 'payment' | 'grant';
      readonly micro_dollars: number;
      readonly reference: string;
    }
  | { readonly type: 'billing.refunded'; readonly micro_dollars: number; readonly reference: string }
  | {
      readonly type: 'billing.subscription_updated';
      readonly plan: BillingPlan;
      readonly micro_dollars: number;
      readonly reference: string;
    }
  | { readonly type: 'organization.tier_changed'; readonly from: Tier; readonly to: Tier };

export const unpaid: Ledger = {
  lifetimePaid: 0,
  credits: 0,
  subscription: 'Free',
  tier: 0,
  references: PersistentMap.empty(),
};

type EntryEvent = Exclude<BillingEvent, { type: 'organization.tier_changed' }>;

const dollars = (micros: number): string => `$${micros / 1_000_000}`;

const contentOf = (event: EntryEvent): string => {
  switch (event.type) {
    case 'billing.credited':
      return `${event.kind} of ${dollars(event.micro_dollars)}`;
    case 'billing.refunded':
      return `refund of ${dollars(event.micro_dollars)}`;
    case 'billing.subscription_updated':
      return `plan ${event.plan} at ${dollars(event.micro_dollars)}`;
  }
};

const entered = (ledger: Ledger, event: EntryEvent, paid: number, credited: number): Ledger => ({
  lifetimePaid: ledger.lifetimePaid + paid,
  credits: ledger.credits + credited,
  subscription: ledger.subscription,
  tier: ledger.tier,
  references: ledger.references.with(event.reference, contentOf(event)),
});

export const post = (ledger: Ledger, event: BillingEvent): Ledger => {
  switch (event.type) {
    case 'billing.credited':
      return entered(ledger, event, event.kind === 'payment' ? event.micro_dollars : 0, event.micro_dollars);
    case 'billing.refunded':
      return entered(ledger, event, -event.micro_dollars, -event.micro_dollars);
    case 'billing.subscription_updated':
      return { ...entered(ledger, event, event.micro_dollars, 0), subscription: event.plan };
    case 'organization.tier_changed':
      return { ...ledger, tier: event.to };
  }
};

/** An entry, with its change of tier in the same append. A reference with another content is refused (contract B.1). */
const enter = (ledger: Ledger, event: EntryEvent, tiers: TierTable | undefined): BillingEvent[] => {
  const before = ledger.references.get(event.reference);
  if (before === contentOf(event)) return [];
  if (before !== undefined) {
    throw fault('validation_failed', {
      param: 'reference',
      message: `reference: ${event.reference} is taken by another entry (${before}). This one (${contentOf(event)}) is not recorded.`,
    });
  }
  const after = post(ledger, event);
  const to = Math.max(tierOfSpend(after.lifetimePaid, tiers), tierOfPlan(after.subscription, tiers)) as Tier;
  return to === ledger.tier ? [event] : [event, { type: 'organization.tier_changed', from: ledger.tier, to }];
};

/** A billion dollars: far below the limit of exact numbers. */
const largest = 1e15;

const amountOf = (amount: number, least: number): number => {
  if (Number.isSafeInteger(amount) && amount >= least && amount <= largest) return amount;
  throw fault('validation_failed', {
    param: 'amount',
    message: `amount: Must be ${least === 0 ? 'zero or more' : 'more than zero'}, to the micro-dollar.`,
  });
};

interface Entry {
  readonly amount: number;
  readonly reference: string;
  /** The built-in table by default. */
  readonly tiers?: TierTable;
}

export const billing = {
  topUp: ({ data }: State<Ledger>, { amount, reference, tiers }: Entry): BillingEvent[] =>
    enter(data, { type: 'billing.credited', kind: 'payment', micro_dollars: amountOf(amount, 1), reference }, tiers),
  /** Credit without payment: it does not count towards a tier. */
  grant: ({ data }: State<Ledger>, { amount, reference, tiers }: Entry): BillingEvent[] =>
    enter(data, { type: 'billing.credited', kind: 'grant', micro_dollars: amountOf(amount, 1), reference }, tiers),
  refund: ({ data }: State<Ledger>, { amount, reference, tiers }: Entry): BillingEvent[] =>
    enter(data, { type: 'billing.refunded', micro_dollars: amountOf(amount, 1), reference }, tiers),
  /** A fee, possibly zero, counts towards the tier and adds no credit (contract B.1). */
  setSubscription: ({ data }: State<Ledger>, input: Entry & { readonly plan: BillingPlan }): BillingEvent[] => {
    const { plan, reference, tiers } = input;
    const micro_dollars = amountOf(input.amount, 0);
    return enter(data, { type: 'billing.subscription_updated', plan, micro_dollars, reference }, tiers);
  },
  endSubscription: ({ data }: State<Ledger>, { reference, tiers }: Omit<Entry, 'amount'>): BillingEvent[] =>
    enter(data, { type: 'billing.subscription_updated', plan: 'Free', micro_dollars: 0, reference }, tiers),
};

/** Version 1 did not name the unit of amounts, and readers of the log took it for dollars. */
const inMicroDollars = ({ amount, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, micro_dollars: amount });

export const organizationUpcasts: Upcasts = {
  1: {
    'billing.credited': inMicroDollars,
    'billing.refunded': inMicroDollars,
    'billing.subscription_updated': inMicroDollars,
  },
};
