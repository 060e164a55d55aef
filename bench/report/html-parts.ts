import type { TruthRow } from '../truth/truth.ts';
import type { Bar } from './bar.ts';
import { type ContenderResult, wholePhase } from './contender.ts';
import { blank, figure, interval, percent, refusalsIn, shownValue } from './figures.ts';
import { html, type Markup } from './markup.ts';
import type { Result, ScenarioResult } from './result.ts';

const chip = (verdict: Bar['verdict']): Markup =>
  html`<span class="chip ${verdict.startsWith('not') ? 'wait' : verdict}">${verdict}</span>`;

/** How far the value is to its bound, which stands at two thirds. */
const gauge = ({ value, bound, verdict }: Bar): Markup | null => {
  const limit = Number(/[\d.]+/.exec(bound)?.[0]);
  if (value === null || !(limit > 0)) return null;
  const width = Math.min(100, (value / limit) * 66);
  return html`<div class="gauge ${verdict}"><i style="width:${width.toFixed(1)}%"></i><b style="left:66%"></b></div>`;
};

export const barsTable = (scenarios: readonly ScenarioResult[]): Markup | null => {
  const rows = scenarios.flatMap(({ id, bars }) =>
    bars.map(
      (
        bar,
      ) => html`<tr><td>${bar.title}${bar.note === null ? null : html`<br><span class="soft">${bar.note}</span>`}</td>
<td><a href="#${id}">${id}</a></td><td class="n">${bar.bound}</td><td class="n">${shownValue(bar)}</td><td>${gauge(bar)}</td><td>${chip(bar.verdict)}</td></tr>`,
    ),
  );
  if (rows.length === 0) return null;
  return html`<article class="card"><h2>Where Weir must stand</h2><div class="scroll"><table>
<tr><th>what</th><th>scenario</th><th class="n">bar</th><th class="n">measured [95 %]</th><th></th><th>verdict</th></tr>${rows}</table></div></article>`;
};

const isOurs = ({ label }: ContenderResult): boolean => label.startsWith('Weir') || label === 'tenants alone';

/** CPU per request, the kernel's part paler; the longest bar is the width. */
export const cpuBars = ({ contenders, curves }: ScenarioResult): Markup | null => {
  const known = contenders.filter(({ cpuMicros }) => cpuMicros !== null);
  if (known.length < 2 || curves.length > 0) return null;
  const sizes = known.map(({ cpuMicros }) => cpuMicros!).sort((a, b) => b - a);
  // One that is far off would leave nothing of the others to see.
  const [first = 1, second = first] = sizes;
  const most = first > 8 * second ? second : first;
  const rows = known.map((each) => {
    const { label, cpuMicros, cpuSystemMicros, cpuRatio } = each;
    const width = Math.min(1, cpuMicros! / most) * 100;
    const kernel = ((cpuSystemMicros ?? 0) / cpuMicros!) * 100;
    const isCut = cpuMicros! > most;
    return html`<div>${label}</div><div><div class="bar${isOurs(each) ? '' : ' other'}" style="width:${width.toFixed(2)}%">
<span style="width:${(100 - kernel).toFixed(1)}%"></span><span class="kernel" style="width:${kernel.toFixed(1)}%"></span></div></div>
<div>${figure(cpuMicros)} µs${isCut ? ' (bar cut)' : ''}${cpuRatio ? html` <span class="soft">× ${interval(cpuRatio)}</span>` : null}</div>`;
  });
  return html`<h3>CPU per request, user and (paler) kernel</h3><div class="bars">${rows}</div>`;
};

export const truthTable = (truth: readonly TruthRow[]): Markup | null => {
  if (truth.length === 0) return null;
  const rows = truth.map(
    ({
      claim,
      cases,
      violations,
      example,
    }) => html`<tr><td>${claim}</td><td class="n">${cases.toLocaleString('en-US')}</td>
<td class="n">${violations}</td><td><span class="chip ${cases === 0 ? 'wait' : violations === 0 ? 'met' : 'missed'}">${cases === 0 ? 'no case' : violations === 0 ? 'true' : 'false'}</span> ${example}</td></tr>`,
  );
  return html`<h3>Limit truth, recounted by the client</h3><div class="scroll"><table>
<tr><th>claim</th><th class="n">cases</th><th class="n">violations</th><th></th></tr>${rows}</table></div>`;
};

const head = [
  '',
  'req/s',
  '429',
  'failed',
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'p99 sent',
  'TTFT p99',
  'server',
  'generator',
  'peak RSS MB',
  'GC ms',
];

export const latencyTable = (contenders: readonly ContenderResult[], unrated: readonly string[]): Markup => {
  const rows = contenders.map((each) => {
    const { latency, statuses, rss } = each;
    const whole = latency[wholePhase(Object.keys(latency))];
    const { refused, failed } = refusalsIn(statuses);
    const cells = [
      `${unrated.includes(each.name) ? '≥ ' : ''}${figure(each.perSecond)}`,
      percent(refused),
      percent(failed),
      figure(whole?.p50),
      figure(whole?.p99),
      figure(whole?.p999),
      figure(latency.service?.p99),
      figure(latency.ttft?.p99),
      percent(each.serverShare),
      percent(each.generatorShare),
      rss === null ? blank : (rss / 2 ** 20).toFixed(0),
      figure(each.gcLongest),
    ];
    return html`<tr><td>${each.label}</td>${cells.map((cell) => html`<td class="n">${cell}</td>`)}</tr>`;
  });
  const heads = head.map((text, i) => html`<th class="${i === 0 ? '' : 'n'}">${text}</th>`);
  return html`<div class="scroll"><table><tr>${heads}</tr>${rows}</table></div>`;
};

export const environmentTable = ({ environment, pinning, settings, seconds }: Result): Markup => {
  const { commit, modified, node, platform, kernel, cpu, cores, governor } = environment;
  const rows: readonly (readonly [string, string])[] = [
    ['commit', commit === null ? 'unknown' : `${commit}${modified ? ', with local changes' : ''}`],
    ['CPU', `${cpu}, ${cores} cores, governor ${governor ?? 'unknown'}`],
    ['system', `${platform}, kernel ${kernel}, Node ${node}`],
    [
      'cores',
      pinning.server === null
        ? `not pinned: ${pinning.reason}`
        : `server on ${pinning.server}, generator (and any mock) on ${pinning.generator}`,
    ],
    [
      'settings',
      Object.entries(settings)
        .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
        .join(', '),
    ],
    ['length', `${Math.round(seconds)} s`],
  ];
  return html`<article class="card" id="environment"><h2>Environment</h2><table>${rows.map(
    ([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`,
  )}</table><p class="soft">Everything ran on one machine over loopback: nothing here is a network's latency. One process per server for the whole run,
so what differs between two starts of a server is not in the intervals.</p></article>`;
};
