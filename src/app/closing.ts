import { atMost } from '../clock.ts';

/** Closes what was opened, last first. A part that hangs does not keep the others open. */
export interface Closing {
  later(what: string, close: () => Promise<unknown>): void;
  /** @param timeoutMs for all parts together @throws Unclosed when a part has not closed in time */
  all(timeoutMs: number): Promise<void>;
}

/** The process must then be killed: its threads may never end. */
class Unclosed extends Error {
  override readonly name = 'Unclosed';
}

const lastMs = 250;

export const closing = (): Closing => {
  const open: { readonly what: string; readonly close: () => Promise<unknown> }[] = [];
  return {
    later: (what, close) => void open.push({ what, close }),
    async all(timeoutMs) {
      const end = performance.now() + timeoutMs;
      const failures: unknown[] = [];
      const stuck: string[] = [];
      for (let next = open.pop(); next !== undefined; next = open.pop()) {
        const closed = next.close().catch((error: unknown) => failures.push(error));
        if (!(await atMost(Math.max(lastMs, end - performance.now()), closed))) stuck.push(next.what);
      }
      if (stuck.length > 0) throw new Unclosed(`${stuck.join(', ')} could not be closed in time`);
      if (failures.length > 0) throw failures[0];
    },
  };
};
