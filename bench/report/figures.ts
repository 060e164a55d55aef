import type { Bar } from './bar.ts';
import type { Estimate } from './statistics.ts';

/** Numbers as people read them; the terminal, the page and the README say the same. */

export const blank = '–';

/** Three digits where it matters, none where it does not. */
export const figure = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return blank;
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return size === 0 ? '0' : size >= 0.1 ? value.toFixed(2) : value.toFixed(3);
};

export const percent = (share: number | null | undefined): string =>
  share === null || share === undefined || !Number.isFinite(share)
    ? blank
    : `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

/** `1.44 [1.41–1.48]`. */
export const interval = ({ median, low, high }: Estimate): string =>
  `${median.toFixed(2)} [${low.toFixed(2)}–${high.toFixed(2)}]`;

export const shownValue = ({ value, unit, low, high }: Bar): string => {
  if (value === null) return blank;
  const range = low === null || high === null ? '' : ` [${figure(low)}–${figure(high)}]`;
  return `${figure(value)}${range}${unit === '' ? '' : ` ${unit}`}`;
};

/** Requests by their statuses, all together. */
export const requestsIn = (statuses: Readonly<Record<string, number>>): number =>
  Object.values(statuses).reduce((sum, count) => sum + count, 0);

/** Share of the answers that were 429, and of those that were neither that nor what is asked for: 200, or the 201 of a creation. */
export const refusalsIn = (statuses: Readonly<Record<string, number>>): { refused: number; failed: number } => {
  const all = requestsIn(statuses);
  const good = Object.entries(statuses).reduce(
    (sum, [status, count]) => sum + (status === '200' || status === '201' ? count : 0),
    0,
  );
  const refused = statuses['429'] ?? 0;
  const share = (count: number) => (all === 0 ? 0 : count / all);
  return { refused: share(refused), failed: share(all - refused - good) };
};
