import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { figure } from './figures.ts';
import { barsTable, cpuBars, environmentTable, latencyTable, truthTable } from './html-parts.ts';
import { html, jsonInScript, Markup } from './markup.ts';
import { measuredIn, type Result, type ScenarioResult } from './result.ts';
import { coloursOf, firstSentence, isOurs } from './who.ts';

const require = createRequire(import.meta.url);
const asset = (name: string): Markup => new Markup(readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8'));
const file = (path: string): Markup => new Markup(readFileSync(path, 'utf8'));

interface Headline {
  readonly says: string;
  readonly mood: 'good' | 'bad' | 'wait';
  readonly because: string;
}

/** What the page says before anything is read. */
export const headline = ({ scenarios, interrupted }: Result): Headline => {
  const invalid = scenarios.filter(({ verdict }) => verdict.is === 'INVALID');
  const missed = scenarios.flatMap(({ bars }) => bars.filter(({ verdict }) => verdict === 'missed'));
  const met = scenarios.flatMap(({ bars }) => bars.filter(({ verdict }) => verdict === 'met'));
  if (scenarios.length === 0) return { says: 'Nothing was measured', mood: 'bad', because: '' };
  if (invalid.length > 0)
    return {
      says: invalid.length === scenarios.length ? 'INVALID: not to be quoted' : 'In part INVALID',
      mood: 'bad',
      because: [...new Set(invalid.flatMap(({ verdict }) => verdict.invalid))][0] ?? '',
    };
  if (missed.length > 0)
    return {
      says: `${missed.length} of ${missed.length + met.length} bars missed`,
      mood: 'bad',
      because: missed.map(({ title }) => title).join('; '),
    };
  const knees = scenarios.flatMap(({ curves }) => curves.flatMap(({ knee }) => knee ?? []));
  const says =
    met.length > 0
      ? `All ${met.length} bars met`
      : knees.length > 0
        ? `The knee is at ${figure(knees[0])} per second`
        : 'Valid';
  return interrupted
    ? { says, mood: 'wait', because: 'interrupted: of what was measured until then' }
    : { says, mood: 'good', because: '' };
};

const counts = ({ scenarios }: Result): Markup => {
  const bars = scenarios.flatMap((scenario) => scenario.bars);
  const kinds = ['met', 'missed', 'invalid', 'not measured', 'not yet'] as const;
  const chips = kinds.map((kind) => {
    const count = bars.filter(({ verdict }) => verdict === kind).length;
    return count === 0
      ? null
      : html`<span class="chip ${kind.startsWith('not') ? 'wait' : kind}">${count} ${kind}</span>`;
  });
  return html`<div class="counts">${chips}</div>`;
};

/** A place that charts.js draws in. @param colours of the scenario's contenders, or of the curve */
const chart = (kind: string, scenario: number, colours: readonly string[], index = 0): Markup =>
  html`<div class="chart" data-chart="${kind}" data-scenario="${scenario}" data-index="${index}" data-colours="${JSON.stringify(colours)}"></div>`;

const timelines = ({ contenders, curves }: ScenarioResult, at: number, colours: readonly string[]): Markup | null => {
  if (contenders.every(({ timeline }) => timeline.length === 0) || curves.length > 0) return null;
  const first = contenders.findIndex((each) => isOurs(each) && each.timeline.length > 0);
  const options = contenders.map(({ label, timeline }, i) =>
    timeline.length === 0 ? null : html`<option value="${i}"${i === first ? html` selected` : null}>${label}</option>`,
  );
  return html`<section><h3>Second by second <select data-scenario="${at}" aria-label="contender">${options}</select></h3>
${chart('timeline', at, colours)}<h3>Answers by status</h3>${chart('stack', at, colours)}</section>`;
};

const isOpen = ({ contenders }: ScenarioResult): boolean => contenders.some(({ latency }) => latency.intended);

const omission = html`<p class="soft">A dashed line counts from the actual send, a whole one from the time at which the request was due. What lies between
is waiting that a closed loop never sees (coordinated omission): while a server stalls, a closed loop sends nothing.</p>`;

const scenarioCard = (found: ScenarioResult, at: number, colourOf: (label: string) => string): Markup => {
  const { id, title, about, contenders, curves, truth, notes, verdict, surroundings } = found;
  const { load, steal } = surroundings;
  const colours = contenders.map(({ label }) => colourOf(label));
  return html`<article class="card" id="${id}">
<h2>${title} <span class="chip ${verdict.is.split(' ')[0]!}">${verdict.is}</span></h2>
${about.map((sentence) => html`<p class="soft">${sentence}</p>`)}
${verdict.invalid.length > 0 ? html`<ul class="reasons">${verdict.invalid.map((reason) => html`<li>${reason}</li>`)}</ul>` : null}
${curves.map((curve, i) => html`<h3>Rate against latency: ${curve.label} (${curve.slo})</h3>${chart('curve', at, [colourOf(curve.label)], i)}`)}
${cpuBars(found, colourOf)}
${truthTable(truth)}
${contenders.length > 0 ? html`<h3>Figures</h3>${latencyTable(contenders, verdict.unratedNames)}` : null}
${contenders.length > 0 && curves.length === 0 ? html`<section><h3>Percentile spectrum</h3>${isOpen(found) ? omission : null}${chart('spectrum', at, colours)}</section>` : null}
${timelines(found, at, colours)}
${[...verdict.rates, ...notes].map((note) => html`<p class="soft">${note}</p>`)}
<p class="soft">Load average ${load.before.toFixed(1)} before, ${load.after.toFixed(1)} after; steal ${steal === null ? 'unknown' : `${(steal * 100).toFixed(1)} %`}.</p>
</article>`;
};

/** A page of one file that needs no network: verdict, bars, every scenario with its charts, environment, raw data. */
export const htmlReport = (result: Result): string => {
  const { says, mood, because } = headline(result);
  const { at, command, scenarios } = result;
  const colourOf = coloursOf(scenarios);
  const sentence = firstSentence(scenarios) ?? `${measuredIn(result)}, under load`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${sentence}</title>
<link rel="icon" href="data:,">
<style>${file(require.resolve('uplot/dist/uPlot.min.css'))}
${asset('page.css')}</style>
</head>
<body>
<main>
<h1>${sentence}</h1>
<p class="soft">${measuredIn(result)}; ${command}, ${at.slice(0, 16).replace('T', ' ')} UTC</p>
<section class="verdict ${mood}"><div class="says">${says}</div>${because === '' ? null : html`<p>${because}</p>`}${counts(result)}</section>
${barsTable(scenarios)}
${scenarios.map((scenario, i) => scenarioCard(scenario, i, colourOf))}
${environmentTable(result)}
<article class="card"><h2>Raw data</h2><p>Every figure, histogram (HDR, V2) and second of this page is in <a href="result.json">result.json</a>, and in this
file itself: <button id="download" type="button">save result.json</button></p></article>
</main>
<script type="application/json" id="result">${jsonInScript(result)}</script>
<script>${file(require.resolve('uplot/dist/uPlot.iife.min.js'))}</script>
<script>${asset('charts.js')}</script>
</body>
</html>
`.text;
};
