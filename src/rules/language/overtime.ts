/** An Error, because CEL ignores errors while another operand may decide; later checks of the time then fail at once. */
class Overtime extends Error {
  override readonly name = 'Overtime';
}

export type Outcome =
  | { readonly value: unknown }
  /** `late`: a check of the time failed, so the rule could give another result with more time. */
  | { readonly error: unknown; readonly late: boolean };

// Evaluations are synchronous and not nested, so one state per thread suffices.
let end = Number.POSITIVE_INFINITY;
let late = false;

/** Whether the running evaluation has a time limit: on the event loop only. */
export const isHurried = (): boolean => end !== Number.POSITIVE_INFINITY;

export const giveUp = (): never => {
  late = true;
  throw new Overtime('The evaluation takes too long for the event loop.');
};

/** Call often; takes 40 ns. @throws Overtime after the limit */
export const checkTime = (): void => {
  if (isHurried() && performance.now() > end) giveUp();
};

/** Runs `work` with a limit of `millis`, if it calls `checkTime`. */
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
