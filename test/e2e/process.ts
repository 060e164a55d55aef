export * from '../support/weir-process.ts';

/** Tries until `holds` returns something that is not undefined, or fails with what `describe` says. */
export const eventually = async <T>(
  holds: () => T | undefined | Promise<T | undefined>,
  describe: () => string = () => 'it did not come to pass',
  withinMs = 25_000,
): Promise<T> => {
  const end = performance.now() + withinMs;
  for (;;) {
    const asked = performance.now();
    const value = await holds();
    if (value !== undefined) return value;
    const now = performance.now();
    if (now > end) throw new Error(`Within ${withinMs} ms: ${describe()}`);
    // Asking takes no more than half of the time from what is waited for.
    await new Promise((resolve) => setTimeout(resolve, Math.max(20, now - asked)));
  }
};
