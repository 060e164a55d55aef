/** Since the Unix epoch for wall times, since some fixed moment for monotonic ones. */
export type Millis = number;

export const minuteMs: Millis = 60_000;
export const hourMs: Millis = 60 * minuteMs;
export const dayMs: Millis = 24 * hourMs;

export interface Clock {
  /** Since the Unix epoch; may step. */
  wall(): Millis;
  /** Never goes back; only differences have a meaning. */
  monotonic(): Millis;
}

export const systemClock: Clock = { wall: () => Date.now(), monotonic: () => performance.now() };

/** Unix seconds, the unit of timestamps on the wire (contract A.1). */
export const seconds = (at: Millis): number => Math.floor(at / 1000);

/** @returns whether the work was done in time */
export const atMost = async (ms: Millis, work: Promise<unknown>): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
};
