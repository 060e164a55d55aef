import type { Millis } from '../../clock.ts';
import type { After } from './event-output.ts';

/** How long the status of a stream waits for the first output (contract G.5). */
const slowStartMs: Millis = 15_000;

/** What came first of a stream, or, where that takes too long, the promise of it. */
export type First<T> = { readonly come: T } | { readonly coming: Promise<T> };

/** @throws what `first` rejects with, in time */
export const inTime = async <T>(first: Promise<T>, after: After): Promise<First<T>> => {
  let callOff = (): void => {};
  const late = new Promise<First<T>>((resolve) => {
    callOff = after(slowStartMs, () => resolve({ coming: first }));
  });
  try {
    return await Promise.race([first.then((come) => ({ come })), late]);
  } finally {
    callOff();
  }
};
