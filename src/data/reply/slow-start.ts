import type { Millis } from '../../clock.ts';
import type { After } from './event-output.ts';

/** Then the status is sent without output (contract G.5). */
const slowStartMs: Millis = 15_000;

/** The first piece, or its promise if it is slow. */
export type First<T> = { readonly come: T } | { readonly coming: Promise<T> };

/** @throws a rejection of `first` in time */
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
