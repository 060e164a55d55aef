import { Command, InvalidArgumentError } from 'commander';
import { tiersOf } from '../../app/limits.ts';
import { readConfig } from '../../config/config.ts';
import { type BillingPlan, plans } from '../../domain/organization/billing.ts';
import type { organization } from '../../domain/organization/organization.ts';
import type { CommandInput } from '../../kernel/commands/actor.ts';
import { withExamples } from '../examples.ts';
import { asOperator, operatorContext, recording } from '../operator.ts';
import { findOrganization } from '../org/org.ts';
import { confirm, dollars, microsOf } from '../output.ts';
import { type Kinds, listing, type Output, showOne } from '../table/listing.ts';
import { type Terminal, UsageError } from '../terminal.ts';

interface Options extends Output {
  readonly reference: string;
}
interface Refund extends Options {
  readonly yes?: true;
}
interface Called {
  readonly options: Options;
  readonly command: Command;
}
type Commands = Pick<typeof organization.decide, 'topUp' | 'grant' | 'refund' | 'setSubscription' | 'endSubscription'>;
/** An entry without its reference. */
type Content<K extends keyof Commands> = Omit<CommandInput<Commands, K>, 'reference' | 'tiers'>;

const examples = `
Examples:
  weir billing top-up org_01jd… --amount 20 --reference invoice-17
  weir billing grant org_01jd… --amount 5 --reference welcome
  weir billing refund org_01jd… --amount 20 --reference refund-of-invoice-17
  weir billing subscription org_01jd… --plan Growth --amount 49 --reference sub-2026-11
  weir billing subscription org_01jd… --end --reference sub-ends

The same entry counts once, however often it is sent; its reference is no other's. A plan may cost nothing. The thresholds of the tiers are those of TIERS_FILE: give it here
as the server has it.`;

const planOf = (text: string): BillingPlan => {
  const plan = plans.find((known) => known.toLowerCase() === text.toLowerCase());
  if (!plan || plan === 'Free') throw new InvalidArgumentError('Give Developer, Growth or Scale.');
  return plan;
};

const referenceOf = (text: string): string => {
  if (text.length < 1 || text.length > 200) throw new InvalidArgumentError('A reference has 1 to 200 characters.');
  return text;
};

/** Parses an amount above zero, in micro-dollars. */
const sumOf = (text: string): number => {
  const micros = microsOf(text);
  if (micros === 0) throw new UsageError('The amount must be more than zero.');
  return micros;
};

const kinds: Kinds = { id: 'id', lifetime_paid: 'money', credits: 'money' };

/** `weir billing` (contract B.1, F.7). */
export const billingCommand = (terminal: Terminal): Command => {
  const billing = new Command('billing').description('Record payments, grants, refunds and subscriptions');
  withExamples(billing, examples);

  const entry = (name: string, description: string): Command =>
    listing(recording(billing.command(name)))
      .description(description)
      .argument('<organization>', 'org_…')
      .requiredOption('--reference <text>', 'what the entry is known by; counts once', referenceOf);

  const record = <K extends keyof Commands>(id: string, called: Called, entry: K, content: Content<K>): Promise<void> =>
    asOperator(terminal, async (operator) => {
      const { table: tiers } = await tiersOf(readConfig(terminal.env));
      const { lifetimePaid: paid } = findOrganization(operator, id);
      const refund = entry === 'refund' ? (content as Content<'refund'>).amount : 0;
      if (refund > paid) {
        const costs = `${dollars(refund)} is more than what was paid in all, ${dollars(paid)}.`;
        await confirm(terminal, costs, (called.options as Refund).yes);
      }
      const { reference } = called.options;
      const input = { ...content, reference, tiers } as CommandInput<typeof organization.decide, K>;
      const result = await operator.aggregates.organization.dispatch(
        id,
        entry,
        input,
        operatorContext(terminal, called.command),
      );
      const { tier, subscription, credits, lifetimePaid } = result.state.data;
      const recorded = result.events.length > 0 ? 'yes' : 'no, this entry was there before';
      const sums = { lifetime_paid: lifetimePaid, credits };
      showOne(terminal, { id, recorded, tier, subscription, ...sums }, called.options, kinds);
    });

  const amount = ['--amount <dollars>', 'in US dollars, up to six decimals'] as const;
  const payment = (name: string, description: string, kind: 'topUp' | 'grant' | 'refund'): void => {
    const command = entry(name, description).requiredOption(...amount);
    if (kind === 'refund') command.option('--yes', 'do not ask where it is more than what was paid');
    command.action((id, options, command) => record(id, { options, command }, kind, { amount: sumOf(options.amount) }));
  };
  payment('top-up', 'Record a payment: it adds credit and counts to the spend tier', 'topUp');
  payment('grant', 'Give credit that nobody paid for', 'grant');
  payment('refund', 'Record a refund: it takes credit, and counts against the spend tier', 'refund');
  entry('subscription', 'Record a subscription and its fee, or its end')
    .option('--plan <plan>', 'Developer, Growth or Scale', planOf)
    .option(...amount)
    .option('--end', 'end the subscription')
    .action((id, options: Options & { plan?: BillingPlan; amount?: string; end?: true }, command) => {
      const { plan, amount: fee, end } = options;
      if (end && plan === undefined && fee === undefined)
        return record(id, { options, command }, 'endSubscription', {});
      if (!end && plan !== undefined && fee !== undefined) {
        return record(id, { options, command }, 'setSubscription', { plan, amount: microsOf(fee) });
      }
      throw new UsageError('Say --plan and --amount, which may be 0, or --end alone.');
    });
  return billing;
};
