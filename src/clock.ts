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

export const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
};

/** Unix seconds, the unit of timestamps on the wire (contract A.1). */
export const seconds = (at: Millis): number => Math.floor(at / 1000);

export const atMost = async (ms: Millis, work: Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
};
