export * from '../support/weir-process.ts';

/** Tries until `holds` returns something that is not undefined, or fails with what `describe` says. */
export const eventually = async <T>(
  holds: () => T | undefined | Promise<T | undefined>,
  describe: () => string = () => 'it did not come to pass',
  withinMs = 15_000,
): Promise<T> => {
  const end = performance.now() + withinMs;
  for (;;) {
    const value = await holds();
    if (value !== undefined) return value;
    if (performance.now() > end) throw new Error(`Within ${withinMs} ms: ${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
