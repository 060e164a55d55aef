import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { type Arrivals, parseTrace } from './gen/schedule.ts';

/** Values of the command line. Each is read by one function that says what it wants. */

const wholeNumber = /^\d+$/;
const decimal = /^\d+(\.\d+)?$/;

const refuse = (sentence: string): never => {
  throw new InvalidArgumentError(sentence);
};

export const wholeBetween =
  (least: number, most: number) =>
  (text: string): number => {
    const value = wholeNumber.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : refuse(`Give a whole number from ${least} to ${most}.`);
  };

export const numberBetween =
  (least: number, most: number) =>
  (text: string): number => {
    const value = decimal.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : refuse(`Give a number from ${least} to ${most}.`);
  };

const secondsIn = { ms: 0.001, s: 1, m: 60, h: 3600 } as const;

/** `30s`, `500ms`, `10m`, `1h` or a number of seconds, in seconds. */
export const durationBetween =
  (least: number, most: number) =>
  (text: string): number => {
    const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
    const seconds = amount === undefined ? Number.NaN : Number(amount) * secondsIn[unit as keyof typeof secondsIn];
    return seconds >= least && seconds <= most
      ? seconds
      : refuse(`Give a time from ${least} to ${most} seconds, such as 30s, 500ms or 10m.`);
  };

/** `3%` or `0.03`, as a share. */
export const share = (text: string): number => {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  return text.trim() !== '' && value >= 0 && value <= 1 ? value : refuse('Give a share such as 3% or 0.03.');
};

export interface Cores {
  readonly server: number;
  readonly generator: number;
}

/** `server=0,gen=1`. */
export const cores = (text: string): Cores => {
  const found = /^server=(\d+),gen=(\d+)$/.exec(text);
  if (!found) return refuse('Give two cores such as server=0,gen=1.');
  return { server: Number(found[1]), generator: Number(found[2]) };
};

/** How many of a hundred keys belong to organizations of each tier, 0 (Free) to 5. */
export type TierMix = readonly { readonly tier: number; readonly weight: number }[];

/** `free:90,t1:8,t5:2`. */
export const tierMix = (text: string): TierMix =>
  text.split(',').map((part) => {
    const [, name, weight] = /^(free|t[0-5]):(\d+)$/.exec(part.trim()) ?? [];
    if (name === undefined || Number(weight) < 1) return refuse('Give tiers such as free:90,t1:8,t5:2.');
    return { tier: name === 'free' ? 0 : Number(name.slice(1)), weight: Number(weight) };
  });

export interface NamedUrl {
  readonly name: string;
  readonly url: URL;
}

export const httpUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return refuse('Give an http:// or https:// address.');
  return url;
};

/** `name=http://host:port`, several times. */
export const namedUrl = (text: string, before: readonly NamedUrl[] = []): readonly NamedUrl[] => {
  const [, name, url] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,39})=(.+)$/.exec(text) ?? [];
  if (name === undefined || url === undefined)
    return refuse('Give a name and an address, such as other=http://host:8080.');
  return [...before, { name, url: httpUrl(url) }];
};

export const oneOf =
  <T extends string>(...known: readonly T[]) =>
  (text: string): T =>
    known.find((each) => each === text) ?? refuse(`There are ${known.join(', ')}.`);

export const arrivalKinds = ['closed', 'poisson', 'constant', 'burst', 'ramp', 'trace'] as const;

export interface ArrivalOptions {
  readonly arrivals?: (typeof arrivalKinds)[number];
  readonly rate?: number;
  readonly burst?: number;
  readonly to?: number;
  readonly trace?: string;
  readonly duration: number;
}

/** The law that the options describe: a rate alone is Poisson's, none is a closed loop. @throws Error in a sentence */
export const arrivalsOf = (options: ArrivalOptions): Arrivals => {
  const { rate, burst = 10, to, trace, duration } = options;
  const is = options.arrivals ?? (trace === undefined ? (rate === undefined ? 'closed' : 'poisson') : 'trace');
  if (is === 'closed') {
    if (rate !== undefined) throw new Error('A closed loop has no --rate: leave one of the two away.');
    return { is };
  }
  if (is === 'trace') {
    if (trace === undefined) throw new Error('--arrivals trace needs --trace FILE.');
    return { is, at: parseTrace(readFileSync(trace, 'utf8')) };
  }
  if (rate === undefined) throw new Error(`--arrivals ${is} needs --rate.`);
  if (is === 'burst') return { is, rate, size: burst };
  if (is === 'ramp') {
    if (to === undefined) throw new Error('--arrivals ramp needs --to, the rate at the end.');
    return { is, rate, to, seconds: duration };
  }
  return { is, rate };
};

/** A demand on what a rate has shown. */
export interface Demand {
  readonly figure: 'p50' | 'p90' | 'p99' | 'p99.9' | 'err';
  /** Milliseconds, or a share for `err`. */
  readonly below: number;
}

/** `p99<5ms,err<0.1%`. */
export const slo = (text: string): readonly Demand[] =>
  text.split(',').map((part) => {
    const [, figure, amount, unit] =
      /^(p50|p90|p99|p99\.9|err)\s*<\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s|%)$/.exec(part.trim()) ?? [];
    if (figure === undefined || (figure === 'err') !== (unit === '%')) {
      return refuse('Give demands such as p99<5ms,err<0.1%.');
    }
    const scale = { us: 0.001, µs: 0.001, ms: 1, s: 1000, '%': 0.01 }[unit as 'ms'];
    return { figure: figure as Demand['figure'], below: Number(amount) * scale };
  });
