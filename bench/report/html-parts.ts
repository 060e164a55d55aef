import type { TruthRow } from '../truth/truth.ts';
import type { Bar } from './bar.ts';
import { type ContenderResult, wholePhase } from './contender.ts';
import { blank, figure, interval, percent, refusalsIn, shownValue } from './figures.ts';
import { html, type Markup } from './markup.ts';
import type { Result, ScenarioResult } from './result.ts';
import { median } from './statistics.ts';
import { denominatorOf } from './who.ts';

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
  const rows = scenarios.flatMap(({ id, title, bars }) =>
    bars.map(
      (
        bar,
      ) => html`<tr><td>${bar.title}${bar.note === null ? null : html`<br><span class="soft">${bar.note}</span>`}</td>
<td><a href="#${id}">${title.split(': ')[0]!}</a></td><td class="n">${bar.bound}</td><td class="n">${shownValue(bar)}</td><td>${gauge(bar)}</td><td>${chip(bar.verdict)}</td></tr>`,
    ),
  );
  if (rows.length === 0) return null;
  return html`<article class="card"><h2>Where Weir must stand</h2><div class="scroll"><table>
<tr><th>what</th><th>scenario</th><th class="n">bar</th><th class="n">measured [95 %]</th><th></th><th>verdict</th></tr>${rows}</table></div></article>`;
};

const farOff = 8;

/** CPU per request, the kernel's part paler; the longest bar is the width. */
export const cpuBars = ({ contenders, curves }: ScenarioResult, colourOf: (label: string) => string): Markup | null => {
  const known = contenders.filter(({ cpuMicros }) => cpuMicros !== null);
  if (known.length < 2 || curves.length > 0) return null;
  const sizes = known.map(({ cpuMicros }) => cpuMicros!);
  // What is far off would leave nothing of the others to see.
  const most = Math.max(...sizes.filter((size) => size <= farOff * median(sizes)));
  const unit = denominatorOf(contenders);
  const rows = known.map((each) => {
    const { label, cpuMicros, cpuSystemMicros } = each;
    const ratio = unit?.of(each) ?? null;
    const colour = colourOf(label);
    const width = Math.min(1, cpuMicros! / most) * 100;
    const kernel = ((cpuSystemMicros ?? 0) / cpuMicros!) * 100;
    const isCut = cpuMicros! > most;
    return html`<div>${label}</div><div><div class="bar" style="width:${width.toFixed(2)}%;--own:${colour.startsWith('--') ? `var(${colour})` : colour}">
<span style="width:${(100 - kernel).toFixed(1)}%"></span><span class="kernel" style="width:${kernel.toFixed(1)}%"></span></div></div>
<div>${figure(cpuMicros)} µs${isCut ? ' (bar cut)' : ''}${ratio ? html` <span class="soft">× ${interval(ratio)}</span>` : null}</div>`;
  });
  return html`<h3>CPU per request, user and (paler) kernel${unit === null ? null : `; × beside ${unit.label}`}</h3><div class="bars">${rows}</div>`;
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
  'answers a second',
  'refused (429)',
  'failed',
  'p50, ms',
  'p99, ms',
  'p99.9, ms',
  'p99 from the send, ms',
  'p99 to the first token, ms',
  'server busy',
  'generator busy',
  'highest memory, MB',
  'longest garbage collection, ms',
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

const plural = (count: unknown, thing: string): string => `${String(count)} ${thing}${count === 1 ? '' : 's'}`;

/** The settings of a run as a person says them. */
export const settingsInWords = (settings: Result['settings']): string => {
  const { rounds, seconds, warmUpSeconds, connections, seed, withPeers, others, target } = settings;
  const named = Array.isArray(others) ? (others as readonly { name: string; url: string }[]) : [];
  return [
    ...(typeof target === 'string' ? [`load on ${target}`] : []),
    `${plural(rounds, 'round')} with windows of ${String(seconds)} s`,
    ...(warmUpSeconds === undefined ? [] : [`a warm-up of ${String(warmUpSeconds)} s`]),
    ...(connections === undefined ? [] : [plural(connections, 'connection')]),
    ...(seed === undefined ? [] : [`seed ${String(seed)}`]),
    ...(withPeers === false ? ['no peers'] : []),
    ...named.map(({ name, url }) => `beside ${name} at ${url}`),
  ].join(', ');
};

const oneMachine = html`<p class="soft">Everything ran on one machine over loopback: nothing here is a network's latency. One process per server for the whole run,
so what differs between two starts of a server is not in the intervals.</p>`;

export const environmentTable = ({ environment, pinning, settings, seconds }: Result): Markup => {
  const { commit, modified, node, platform, kernel, cpu, cores, governor } = environment;
  const isElsewhere = typeof settings.target === 'string';
  const rows: readonly (readonly [string, string])[] = [
    [
      isElsewhere ? 'commit of the bench' : 'commit',
      commit === null ? 'unknown' : `${commit}${modified ? ', with local changes' : ''}`,
    ],
    ['CPU', `${cpu}, ${cores} cores, governor ${governor ?? 'unknown'}`],
    ['system', `${platform}, kernel ${kernel}, Node ${node}`],
    [
      'cores',
      pinning.server === null
        ? `not pinned: ${pinning.reason}`
        : isElsewhere
          ? `generator on ${pinning.generator}`
          : `server on ${pinning.server}, generator (and any mock) on ${pinning.generator}`,
    ],
    ['settings', settingsInWords(settings)],
    ['length', `${Math.round(seconds)} s`],
  ];
  return html`<article class="card" id="environment"><h2>Environment</h2><table>${rows.map(
    ([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`,
  )}</table>${isElsewhere ? null : oneMachine}</article>`;
};
