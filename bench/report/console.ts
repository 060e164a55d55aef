import Table from 'cli-table3';
import { type ContenderResult, wholePhase } from './contender.ts';
import { blank, figure, interval, percent, refusalsIn, shownValue } from './figures.ts';
import { type Curve, measuredIn, type Result, type ScenarioResult } from './result.ts';
import { denominatorOf } from './who.ts';

const edges = ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'];
const lines = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'];
/** Columns and nothing around them: a frame would not fit the width of a terminal. */
const plain = {
  style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  chars: { ...Object.fromEntries([...edges, ...lines].map((each) => [each, ''])), middle: '  ' },
};

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const table = new Table({ head: [...head], ...plain, colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')) });
  for (const row of rows) table.push([...row]);
  return `${table.toString()}\n`;
};

/** The whole report for a terminal: where and of what, each scenario, all bars, the verdict. */
export const summary = (result: Result): string =>
  ['', conditions(result), ...result.scenarios.map(scenario), bars(result), verdict(result)].join('\n');

const conditions = (result: Result): string => {
  const { environment, pinning, settings, interrupted } = result;
  const { cpu, cores, kernel, node } = environment;
  const isElsewhere = typeof settings.target === 'string';
  const where =
    pinning.server === null
      ? `NOT PINNED (${pinning.reason}): server and generator may share a core`
      : `${isElsewhere ? '' : `server on core ${pinning.server}, `}generator on core ${pinning.generator}`;
  return [
    `${measuredIn(result)}${isElsewhere ? ', with load from' : ' on'} ${cpu}, ${cores} cores, kernel ${kernel}, Node ${node}; ${where}`,
    `${settings.rounds} interleaved rounds of ${settings.seconds} s where nothing else is said; medians, and medians of the rounds' own ratios with a bootstrap 95 % interval`,
    ...(interrupted ? ['INTERRUPTED: this is of what was measured until then'] : []),
  ].join('\n');
};

const scenario = (found: ScenarioResult): string => {
  const { id, title, contenders, curves, truth, notes, verdict: own, surroundings } = found;
  const lines = [`\n${id}: ${title}`];
  if (curves.length === 0 && contenders.length > 0) lines.push(contenderTable(contenders, own.unratedNames));
  for (const curve of curves) lines.push(curveTable(curve));
  if (truth.length > 0) {
    const rows = truth.map(({ claim, cases, violations, example }) => [
      claim,
      `${cases}`,
      `${violations}`,
      example ?? '',
    ]);
    lines.push(tableOf(['claim', 'cases', 'violations', 'the first'], rows));
  }
  const { load, steal } = surroundings;
  const stolen = steal === null ? 'unknown' : percent(steal);
  lines.push(
    ...notes.map((note) => `  note: ${note}`),
    `  load average ${load.before.toFixed(1)} before, ${load.after.toFixed(1)} after; steal ${stolen}`,
    ...own.invalid.map((reason) => `  INVALID: ${reason}`),
    ...own.rates.map((reason) => `  rate: ${reason}`),
  );
  return lines.join('\n');
};

const contenderTable = (contenders: readonly ContenderResult[], unrated: readonly string[]): string => {
  const head = [
    '',
    'CPU µs/req',
    '× unit [95 %]',
    'req/s',
    '429',
    'failed',
    'p50 ms',
    'p99 ms',
    'sent p99',
    'server',
    'gen',
    'sleeps',
    'peak RSS MB',
  ];
  const unit = denominatorOf(contenders);
  const table = tableOf(
    head,
    contenders.map((each) => {
      const { refused, failed } = refusalsIn(each.statuses);
      const ratio = unit?.of(each) ?? null;
      const whole = each.latency[wholePhase(Object.keys(each.latency))];
      return [
        each.label,
        figure(each.cpuMicros),
        ratio ? interval(ratio) : blank,
        `${unrated.includes(each.name) ? '≥ ' : ''}${figure(each.perSecond)}`,
        percent(refused),
        percent(failed),
        figure(whole?.p50),
        figure(whole?.p99),
        figure(each.latency.service?.p99),
        percent(each.serverShare),
        percent(each.generatorShare),
        figure(each.sleepsPerRequest),
        each.rss === null ? blank : (each.rss / 2 ** 20).toFixed(0),
      ];
    }),
  );
  return unit === null ? table : `${table}  unit: ${unit.label}`;
};

const curveTable = ({ label, slo, points, knee }: Curve): string =>
  `${tableOf(
    ['rate', 'achieved', 'p50 ms', 'p99 ms', 'p99.9 ms', 'sent p99', 'not 200', 'CPU', ''],
    points.map((point) => [
      figure(point.rate),
      figure(point.achieved),
      figure(point.p50),
      figure(point.p99),
      figure(point.p999),
      figure(point.serviceP99),
      percent(point.errors),
      percent(point.cpuShare),
      point.invalid ? 'generator-bound' : point.passed ? 'holds' : 'does not hold',
    ]),
  )}  ${label}: ${knee === null ? 'no rate held' : `the knee is at ${figure(knee)} per second`} (${slo})`;

const bars = ({ scenarios }: Result): string => {
  const rows = scenarios.flatMap(({ id, bars: own }) =>
    own.map((bar) => [bar.title, id, bar.bound, shownValue(bar), bar.verdict, bar.note ?? '']),
  );
  return rows.length === 0 ? '' : `\n${tableOf(['bar', 'scenario', 'bound', 'measured', 'verdict', 'note'], rows)}`;
};

const verdict = ({ scenarios }: Result): string => {
  const by = (wanted: string) => scenarios.filter(({ verdict: { is } }) => is === wanted).map(({ id }) => id);
  const invalid = by('INVALID');
  const cpuOnly = by('VALID FOR CPU PER REQUEST ONLY');
  const missed = scenarios.flatMap(({ bars: own }) => own.filter(({ verdict: is }) => is === 'missed')).length;
  return [
    ...(invalid.length > 0 ? [`INVALID: ${invalid.join(', ')} must not be quoted`] : []),
    ...(cpuOnly.length > 0 ? [`VALID FOR CPU PER REQUEST ONLY: ${cpuOnly.join(', ')}`] : []),
    ...(missed > 0 ? [`${missed} ${missed === 1 ? 'bar' : 'bars'} missed`] : []),
    ...(scenarios.length === 0 ? ['nothing was measured'] : invalid.length + cpuOnly.length === 0 ? ['VALID'] : []),
    '',
  ].join('\n');
};
