import { exponential, type Random, randomFrom } from './random.ts';

/** When requests are to be sent. Rates are requests per second. */
export type Arrivals =
  /** Each connection sends its next request when the last is answered: no schedule. */
  | { readonly is: 'closed' }
  /** Independent of each other, as many clients are. */
  | { readonly is: 'poisson'; readonly rate: number }
  | { readonly is: 'constant'; readonly rate: number }
  /** `size` at once, as often as makes `rate`. */
  | { readonly is: 'burst'; readonly rate: number; readonly size: number }
  /** Evenly spaced at a rate that grows (or falls) from `rate` to `to` within `seconds`, and stays there. */
  | { readonly is: 'ramp'; readonly rate: number; readonly to: number; readonly seconds: number }
  /** Recorded times in seconds, ascending; after the last there is nothing more to send. */
  | { readonly is: 'trace'; readonly at: readonly number[] };

export type OpenArrivals = Exclude<Arrivals, { is: 'closed' }>;

/** The next planned time in milliseconds after the start, never before the last one; Infinity when there is none. */
export type Schedule = () => number;

const poisson = (rate: number, random: Random): Schedule => {
  let at = 0;
  return () => {
    at += (exponential(random) * 1000) / rate;
    return at;
  };
};

/** By count and not by adding up, so that rounding never makes the rate drift. */
const counted = (timeOf: (index: number) => number): Schedule => {
  let index = 0;
  return () => timeOf(index++);
};

/**
 * Inverts N(t) = rate·t + (to − rate)·t² / 2·seconds, the number of requests that are due by t. The root is in the
 * form that takes no two near numbers from each other, so that a ramp that hardly rises does not go back in time.
 */
const rampTime = (rate: number, to: number, seconds: number): ((index: number) => number) => {
  const slope = (to - rate) / seconds;
  const within = ((rate + to) / 2) * seconds;
  return (index) => {
    if (index >= within) return 1000 * (seconds + (index - within) / to);
    return (2000 * index) / (rate + Math.sqrt(rate * rate + 2 * slope * index));
  };
};

/** @throws RangeError for a schedule that no time can follow */
export const schedule = (arrivals: OpenArrivals, seed: number): Schedule => {
  if (arrivals.is === 'trace') return counted((index) => (arrivals.at[index] ?? Infinity) * 1000);
  if (!(arrivals.rate > 0)) throw new RangeError('a schedule needs a rate above 0');
  switch (arrivals.is) {
    case 'poisson':
      return poisson(arrivals.rate, randomFrom(seed));
    case 'constant':
      return counted((index) => (index * 1000) / arrivals.rate);
    case 'burst':
      return counted((index) => (Math.floor(index / arrivals.size) * arrivals.size * 1000) / arrivals.rate);
    case 'ramp':
      return counted(rampTime(arrivals.rate, arrivals.to, arrivals.seconds));
  }
};

/**
 * The times of a trace: one a line in seconds, from any origin; what follows a comma, blank lines and lines that begin
 * with `#` are left out. @throws Error naming the line that is no time or goes back
 */
export const parseTrace = (text: string): number[] => {
  const at: number[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [field = ''] = line.split(',');
    if (field.trim() === '' || line.startsWith('#')) continue;
    const seconds = Number(field);
    if (!Number.isFinite(seconds)) throw new Error(`line ${index + 1} of the trace is not a time in seconds`);
    if (seconds < (at.at(-1) ?? -Infinity)) throw new Error(`line ${index + 1} of the trace goes back in time`);
    at.push(seconds);
  }
  if (at.length === 0) throw new Error('the trace holds no time');
  const [first = 0] = at;
  return at.map((seconds) => seconds - first);
};
