/**
 * The evaluation on the loop took too long for it. It extends Error because the engine, as CEL demands, holds an error
 * back while another operand may still decide the result; every later check then fails at once, so it still ends soon.
 */
class Overtime extends Error {
  override readonly name = 'Overtime';
}

export type Outcome =
  | { readonly value: unknown }
  /** `late`: some check failed, so that the error need not be what the rule would give with more time. */
  | { readonly error: unknown; readonly late: boolean };

// Evaluations are synchronous and never nest, so one stopwatch per thread is enough.
let end = Number.POSITIVE_INFINITY;
let late = false;

/** Whether the running evaluation has a clock to watch: on the event loop, not in a worker thread. */
export const isHurried = (): boolean => end !== Number.POSITIVE_INFINITY;

/** Ends a hurried evaluation. @throws Overtime */
export const giveUp = (): never => {
  late = true;
  throw new Overtime('The evaluation takes too long for the event loop.');
};

/** Throws once the time of the running evaluation is over. Costs 40 ns. @throws Overtime */
export const checkTime = (): void => {
  if (isHurried() && performance.now() > end) giveUp();
};

/** Runs `work` with `millis` to go. Only work that calls `checkTime` now and then ends in time. */
export const timed = (millis: number, work: () => unknown): Outcome => {
  end = performance.now() + millis;
  late = false;
  try {
    return { value: work() };
  } catch (error) {
    return { error, late };
  } finally {
    end = Number.POSITIVE_INFINITY;
  }
};
