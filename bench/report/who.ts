import { type ContenderResult, cpuRatio } from './contender.ts';
import { figure } from './figures.ts';
import type { ScenarioResult } from './result.ts';
import type { Estimate } from './statistics.ts';

/** Who is who on a page: names in words, a colour for each, and what stands beside what. */

const known: readonly (readonly [RegExp, string, string])[] = [
  [/^(Weir|tenants)/, 'Weir', '--c1'],
  [/^haproxy/i, 'HAProxy', '--c2'],
  [/^nginx/i, 'nginx', '--c3'],
  [/^portkey/i, 'Portkey', '--c4'],
  [/^litellm/i, 'LiteLLM', '--c5'],
  [/^bare uWebSockets\.js, /, 'bare uWebSockets.js, the same bytes', '--c8'],
  [/^bare uWebSockets\.js/, 'bare uWebSockets.js', '--c6'],
  [/^the mock itself/, 'the mock itself', '--c7'],
];

/** Where a label ends to say who it is, and begins to say what is done. */
const work = /(?:,| to the | at ).*$/s;

/** Who a label is of: `nginx to the mock, 8 KB` is of nginx. A former build of Weir is another. */
export const whoOf = (label: string): string => {
  const who = known.find(([form]) => form.test(label))?.[1] ?? label.replace(work, '');
  return label.endsWith(', before') ? `${who} before` : who;
};

export const isOurs = ({ label }: Pick<ContenderResult, 'label'>): boolean => whoOf(label) === 'Weir';

/** One CSS colour, or the name of one of page.css, for each of all whom a page shows. */
export const coloursOf = (scenarios: readonly Pick<ScenarioResult, 'contenders'>[]): ((label: string) => string) => {
  const labels = scenarios.flatMap(({ contenders }) => contenders.map(({ label }) => label));
  const others = [...new Set(labels.map(whoOf))].filter((who) => known.every(([, name]) => name !== who));
  const colours = new Map([
    ...known.map(([, name, colour]) => [name, colour] as const),
    // The golden angle: however many there are, no two are near each other.
    ...others.map((who, i) => [who, `hsl(${Math.round(300 + i * 137.5) % 360} 55% 48%)`] as const),
  ]);
  return (label) => colours.get(whoOf(label)) ?? '--c6';
};

/** What all ratios of a table are divided by. */
export interface Denominator {
  readonly label: string;
  readonly of: (contender: ContenderResult) => Estimate | null;
}

/** The unit of most of them, for all of them; null where they have no such unit: each has its bar then. */
export const denominatorOf = (contenders: readonly ContenderResult[]): Denominator | null => {
  const units = contenders.flatMap(({ unit }) => unit ?? []);
  const name = units.find((unit) => units.filter((each) => each === unit).length > units.length / 2);
  const unit = contenders.find((each) => each.name === name);
  if (unit === undefined || unit.cpuMicros === null) return null;
  return { label: unit.label, of: (contender) => (contender === unit ? null : cpuRatio(contender, unit)) };
};

const answers = ({ statuses, cpuMicros }: ContenderResult): boolean => cpuMicros !== null && (statuses['200'] ?? 0) > 0;
const workOf = (label: string): string => work.exec(label)?.[0] ?? '';

/** Who did the same work as this one: those with the same words for it, and those who did only one work. */
const besides = (ours: ContenderResult, contenders: readonly ContenderResult[]): readonly ContenderResult[] => {
  const others = contenders.filter((each) => each.name !== ours.name && answers(each) && !isOurs(each));
  return [...new Set(others.map(({ label }) => whoOf(label)))].flatMap((who) => {
    const own = others.filter(({ label }) => whoOf(label) === who);
    return own.find(({ label }) => workOf(label) === workOf(ours.label)) ?? (own.length === 1 ? own : []);
  });
};

const isLimit = ({ label }: ContenderResult): boolean => /^(bare |the mock)/.test(label);

const micros = (value: number): string => (value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US'));

/** `Weir 13.6 µs a request, HAProxy 13.3, nginx 14.4`: the CPU of one scenario; null where there is none of Weir's. */
const cpuSentence = ({ contenders }: ScenarioResult): { readonly text: string; readonly peers: number } | null => {
  const [best] = contenders
    .filter((each) => answers(each) && isOurs(each))
    .map((ours) => {
      const all = besides(ours, contenders);
      const peers = all.filter((each) => !isLimit(each));
      return { ours, peers: peers.length, shown: peers.length > 0 ? peers : all.slice(0, 1) };
    })
    .sort((a, b) => b.peers - a.peers);
  if (best === undefined) return null;
  const { ours, peers, shown } = best;
  const others = shown.map(({ label, cpuMicros }) => `, ${whoOf(label)} ${micros(cpuMicros!)}`);
  return { text: `Weir ${micros(ours.cpuMicros!)} µs a request${others.join('')}`, peers };
};

const kneeSentence = (scenarios: readonly ScenarioResult[]): string | null => {
  const [found] = scenarios.flatMap(({ curves, verdict }) => curves.map((curve) => ({ ...curve, verdict })));
  if (found === undefined) return null;
  const { label, knee, slo, verdict } = found;
  if (knee === null) return `${label}: no rate held ${slo}`;
  return `${verdict.is === 'INVALID' ? 'Not to be quoted: ' : ''}${label} holds ${figure(knee)} requests a second (${slo})`;
};

/** What a page says first: the CPU of a request beside that of the most peers, or the knee; null where there is neither. */
export const firstSentence = (scenarios: readonly ScenarioResult[]): string | null => {
  const [best] = scenarios
    .filter(({ curves }) => curves.length === 0)
    .flatMap((scenario) => {
      const said = cpuSentence(scenario);
      return said === null ? [] : { ...said, isQuotable: scenario.verdict.is !== 'INVALID' };
    })
    .sort((a, b) => Number(b.isQuotable) - Number(a.isQuotable) || b.peers - a.peers);
  if (best === undefined) return kneeSentence(scenarios);
  return `${best.isQuotable ? '' : 'Not to be quoted: '}${best.text}`;
};
