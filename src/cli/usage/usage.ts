import { Command } from 'commander';
import {
  type Bucket,
  type Grouping,
  groupings,
  inputOf,
  tokenCounts,
  usageBuckets,
  type Width,
  widths,
} from '../../admin/usage/usage-buckets.ts';
import { dayMs, systemClock } from '../../clock.ts';
import type { Settlement, UsageSum } from '../../domain/usage/usage-events.ts';
import { timeOfId } from '../../ids.ts';
import { Failure } from '../../process/failure.ts';
import { type Difference, reconcile } from '../../usage/reconcile.ts';
import { settlementsBetween } from '../../usage/settlements.ts';
import { parseTime } from '../audit-questions/moment.ts';
import { withExamples } from '../examples.ts';
import { asOperator, onLog } from '../operator.ts';
import { oneOf, several } from '../option-values.ts';
import { organizationOf } from '../resources/arguments.ts';
import { jsonOf, type Kinds, listing, type Output, type Shown, show } from '../table/listing.ts';
import { type Terminal, UsageError } from '../terminal.ts';
import { readLedger } from './ledger-file.ts';

const examples = `
Examples:
  weir usage                                             the last seven days of the only organization there is
  weir usage org_01jd… --from 2026-11-01 --by model --by project_id --json
  weir usage org_01jd… --width 1h --from 2026-11-20T08:00:00Z --to 2026-11-21
  weir usage reconcile --ledger provider.ndjson --model claude`;

const mostBuckets = 10_000;
/** Exit status if the ledger and the settlements differ. */
const differs = 3;

interface Asked extends Output {
  readonly from?: number;
  readonly to?: number;
  readonly width: Width;
  readonly by?: readonly Grouping[];
}

/** `weir usage` (contract M.6). */
export const usageCommand = (terminal: Terminal): Command => {
  const usage = listing(withExamples(new Command('usage'), examples))
    .description('Show what an organization has used, or compare with an upstream’s own list')
    .argument('[organization]', 'org_…; default: the only one there is')
    .option('--from <time>', 'a time with its zone, or a date (UTC; default: six days before the end)', parseTime)
    .option('--to <time>', 'the same, exclusive (default: now)', parseTime)
    .option('--width <width>', '1m, 1h or 1d', oneOf(Object.keys(widths) as Width[]), '1d')
    .option('--by <field>', `${groupings.join(', ')}; may be repeated`, several(oneOf(groupings)))
    .action((id: string | undefined, options: Asked) => showUsage(terminal, id, options));
  listing(usage.command('reconcile'))
    .description('Compare what was settled with an upstream’s own list of requests; exit status 3 where they differ')
    .requiredOption(
      '--ledger <file>',
      'NDJSON, or CSV with a line of names: request_id, input_tokens, output_tokens, …',
    )
    .option(
      '--model <id>',
      'a model of that upstream; may be repeated (default: those of requests in the list)',
      several(String),
    )
    .option('--from <time>', 'a time with its zone, or a date (UTC; default: the first request of the list)', parseTime)
    .option('--to <time>', 'the same, exclusive (default: the last one)', parseTime)
    .action((options: Compared) => compare(terminal, options));
  return usage;
};

const usageKinds: Kinds = {
  start_time: 'time',
  end_time: 'time',
  cost: 'money',
  project_id: 'id',
  api_key_id: 'id',
  model: 'id',
};
type Group = Readonly<Record<string, string | null>>;

/** As narrow as it can be; `input` is all input, of which `cached` came from the cache. */
const tableRow = ({ from }: Bucket, sum: UsageSum, group: Group): Shown => ({
  start_time: from,
  cost: sum.microDollars,
  requests: sum.requests,
  ...group,
  input: inputOf(sum),
  output: sum.output,
  cached: sum.cacheRead,
  cache_write: sum.cacheCreation,
});

/** The names of `GET /v1/organization/usage`, and the cost. */
const jsonRow = ({ from, to }: Bucket, sum: UsageSum, group: Group): Shown => ({
  start_time: from,
  end_time: to,
  cost: sum.microDollars,
  ...group,
  ...tokenCounts(sum),
});

const showUsage = (terminal: Terminal, id: string | undefined, options: Asked): Promise<void> =>
  asOperator(terminal, async (operator) => {
    const organizationId = organizationOf(operator, id);
    const now = systemClock.wall();
    const { width, by: groupBy = [], to = now + 1, from: begin = to - 6 * dayMs } = options;
    const ms = widths[width];
    const from = Math.floor(begin / ms) * ms;
    const count = Math.ceil((to - from) / ms);
    if (options.to === undefined && begin > now)
      throw new UsageError('--from is still to come: there is no usage yet.');
    if (count < 1) throw new UsageError('--to must be after --from.');
    if (count > mostBuckets) throw new UsageError(`That is ${count} buckets; ${mostBuckets} are the most.`);
    const buckets = await usageBuckets(operator.rows, { organizationId, from, width, count, now, groupBy });
    const forPeople = jsonOf(terminal, options) === null;
    const rows = buckets.flatMap((bucket) =>
      bucket.groups.map(({ sum, ...of }) => {
        const group = Object.fromEntries(groupBy.map((field) => [field, of[field]]));
        return forPeople ? tableRow(bucket, sum, group) : jsonRow(bucket, sum, group);
      }),
    );
    show(terminal, rows, options, usageKinds);
  });

interface Compared extends Output {
  readonly ledger: string;
  readonly model?: readonly string[];
  readonly from?: number;
  readonly to?: number;
}

const compare = async (terminal: Terminal, options: Compared): Promise<void> => {
  const ledger = await readLedger(options.ledger);
  const times = ledger.map(({ request_id }) => timeOfId(request_id)).filter((at) => at !== null);
  // Not by spread: a ledger may have millions of lines.
  const first = options.from ?? times.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
  const end = options.to ?? times.reduce((most, at) => Math.max(most, at), Number.NEGATIVE_INFINITY) + 1;
  if (!(first < end)) throw new Failure('The ledger names no request of this gateway: say --from and --to.');
  await onLog(terminal, async ({ store }) => {
    const found: Settlement[] = [];
    const named = new Set(ledger.map(({ request_id }) => request_id));
    const models = new Set(options.model);
    // A request may be settled up to a day after it began.
    for await (const each of settlementsBetween(store, first, end + dayMs)) {
      found.push(each);
      if (options.model === undefined && named.has(each.request_id)) models.add(each.model);
    }
    const isMeant = ({ request_id, model }: Settlement): boolean => {
      const at = timeOfId(request_id) ?? Number.NaN;
      return named.has(request_id) || (models.has(model) && at >= first && at < end);
    };
    report(terminal, reconcile(ledger, found.filter(isMeant)), options);
  });
};

const tokensOf = (tokens: Difference['ours']): string =>
  Object.entries(tokens)
    .filter(([kind]) => kind.endsWith('_tokens'))
    .map(([kind, tokensOfKind]) => `${kind} ${tokensOfKind}`)
    .join(', ');

const report = (
  terminal: Terminal,
  { requests, equal, differences }: ReturnType<typeof reconcile>,
  options: Output,
): void => {
  const rows = differences.map(({ request_id, kind, ours, theirs }) => ({
    request_id,
    kind,
    ours: tokensOf(ours),
    theirs: tokensOf(theirs),
  }));
  if (rows.length > 0 || jsonOf(terminal, options)) show(terminal, rows, options, { request_id: 'id' });
  const count = (wanted: Difference['kind']): number => differences.filter(({ kind }) => kind === wanted).length;
  const [estimated, repeated] = [count('estimated'), count('repeated')];
  const real = differences.length - estimated - repeated;
  const summary = `${requests} requests in the ledger: ${equal} are equal, ${real} differ, ${estimated} were estimated here, ${repeated} were asked for again.`;
  if (real > 0) throw new Failure(summary, differs);
  terminal.err(`${summary}\n`);
};
