/** What has been opened, closed in the opposite order. A part that is stuck keeps nobody else from being closed. */
export interface Closing {
  later(what: string, close: () => Promise<unknown>): void;
  /**
   * @param timeoutMs for all that is open together; what comes after has a quarter of a second each
   * @throws Unclosed when something has not come to its end
   */
  all(timeoutMs: number): Promise<void>;
}

/** The process has to be ended all the same: threads of it may never end by themselves. */
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
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<'late'>((resolve) => {
          timer = setTimeout(() => resolve('late'), Math.max(lastMs, end - performance.now()));
        });
        const closed = next.close().catch((error: unknown) => void failures.push(error));
        if ((await Promise.race([closed, late])) === 'late') stuck.push(next.what);
        clearTimeout(timer);
      }
      if (stuck.length > 0) throw new Unclosed(`${stuck.join(', ')} could not be closed in time`);
      if (failures.length > 0) throw failures[0];
    },
  };
};
