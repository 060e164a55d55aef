import type { Cancellation } from '../cancellation.ts';
import type { Millis } from '../clock.ts';

/** Resolves after that long; rejects with the signal's reason as soon as it is aborted, and leaves no timer behind. */
export type Sleep = (ms: Millis, signal: Cancellation) => Promise<void>;

export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal.addEventListener('abort', abort);
  });
