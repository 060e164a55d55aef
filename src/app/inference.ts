import { usage as usageRows } from '../../projections/usage.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { policyGuard } from '../data/policy/guard.ts';
import { policyDirectory } from '../data/policy/in-force.ts';
import { KeptRequests } from '../data/policy/kept-requests.ts';
import { recordIn } from '../data/policy/record.ts';
import { openLargeBodies } from '../data/request/large-bodies.ts';
import { connect } from '../data/upstream/connect.ts';
import type { DeclaredModel } from '../data/upstream/models/models.ts';
import type { Context } from '../kernel/commands/actor.ts';
import { openEvaluator } from '../rules/evaluate.ts';
import type { journalFolder } from '../usage/journal-folder.ts';
import { declarePrices } from '../usage/prices.ts';
import { tellTotals } from '../usage/totals.ts';
import { openUsage } from '../usage/usage.ts';
import type { Closing } from './closing.ts';
import { balanceRows, fundsOf, tellTotalsBuilt, untoldOf } from './funds.ts';
import { pricesOf } from './models/prices.ts';
import type { Records } from './records.ts';
import { SpendRows } from './spend-limits.ts';

/** What requests for models need: models, accounts and policies. */
export type Inference = Awaited<ReturnType<typeof openInference>>;

export const openInference = async (parts: {
  readonly config: Config;
  readonly declared: readonly DeclaredModel[];
  readonly records: Records;
  readonly journal: ReturnType<typeof journalFolder>;
  readonly by: Context;
  readonly clock: Clock;
  readonly open: Closing;
}) => {
  const { config, declared, records, by, clock, open } = parts;
  const { store, models } = records;
  const inForce = policyDirectory(() => models);
  // Credentials are found by their own rows; policies are kept as a whole.
  records.followRows({
    committing: (batch) => inForce.committing(batch),
    committed: () => inForce.committed(),
    cleared: () => inForce.cleared(),
    damaged: () => inForce.cleared(),
  });
  const connected = connect(declared, { clock });
  open.later('the models', connected.close);
  const spend = new SpendRows(models);
  // Before any settlement, which names its price by the log.
  const prices = pricesOf(declared);
  await declarePrices(store, prices, by, clock);
  const accounts = await openUsage({
    ...parts.journal,
    store,
    prices,
    funds: fundsOf(models, connected),
    spend,
    gateways: config.GATEWAYS,
    clock,
  });
  records.followRows({
    committing: (batch) => spend.committing(batch),
    committed(batch) {
      spend.committed(batch);
      // If the rows of usage stand still, this gateway goes on counting these accounts itself.
      if (!models.stopped.some(({ follower }) => follower === usageRows.name)) accounts.recorded(batch);
    },
  });
  // Before the balances include all earlier charges, credit could be spent twice.
  for await (const { position } of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) {
    await models.reached(position, config.PROJECTION_WAIT_MS, balanceRows);
  }
  open.later('the accounts of requests', () => accounts.close());
  tellTotalsBuilt(models, clock.wall());
  open.later('the totals of organizations', tellTotals({ store, untold: () => untoldOf(models), clock }));
  const large = openLargeBodies(declared);
  open.later('the threads of large bodies', large.close);
  const evaluator = openEvaluator();
  open.later('the rules', evaluator.close);
  const { REPLAY_TEXT_MINUTES: minutes } = config;
  const kept = minutes === 0 ? null : new KeptRequests(minutes * 60_000, clock);
  open.later('the text of requests', async () => kept?.close());
  const policies = policyGuard({ inForce, evaluator, clock, record: recordIn(accounts, clock), kept });
  return { models: connected, accounts, large, evaluator, policies };
};
