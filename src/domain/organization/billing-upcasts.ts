import type { Upcasts } from '../../kernel/aggregate/aggregate.ts';

/** Until version 1 the amounts did not say what they are in, and a reader of the log took them for dollars. */
const inMicroDollars = ({ amount, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, micro_dollars: amount });

/** How older events of an organization are read. */
export const organizationUpcasts: Upcasts = {
  1: {
    'billing.credited': inMicroDollars,
    'billing.refunded': inMicroDollars,
    'billing.subscription_updated': inMicroDollars,
  },
};
