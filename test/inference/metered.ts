import { type Account, type Allowance, type Meter, unmetered } from '../../src/http/route.ts';

/** An allowance that tells what the account of its request is told. */
export const metered = () => {
  const told: unknown[] = [];
  const meter: Meter = {
    progress: (...said) => void told.push(['progress', ...said]),
    complete: (counted, sent, status = 200) => void told.push(['complete', counted, sent, status]),
    fail: (...said) => void told.push(['fail', ...said]),
    written: undefined,
  };
  const made: Allowance & Account = { ...unmetered, ...meter, open: () => Promise.resolve(made), enter: () => null };
  return { told, allowance: made };
};
