import type { Upcasts } from '../../kernel/aggregate/aggregate.ts';

/** Version 1 did not name the unit of amounts, and readers of the log took it for dollars. */
const inMicroDollars = ({ amount, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, micro_dollars: amount });

export const organizationUpcasts: Upcasts = {
  1: {
    'billing.credited': inMicroDollars,
    'billing.refunded': inMicroDollars,
    'billing.subscription_updated': inMicroDollars,
  },
};
