/** Milliseconds: since the Unix epoch where it says wall, since some fixed moment where it says monotonic. */
export type Millis = number;

export const minuteMs: Millis = 60_000;
export const hourMs: Millis = 60 * minuteMs;
export const dayMs: Millis = 24 * hourMs;

/** Where time enters. Everything that needs the time takes one of these. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch; may step. */
  wall(): Millis;
  /** Milliseconds that never go back; only differences mean anything. */
  monotonic(): Millis;
}

export const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
};

/** Unix seconds, the unit of every timestamp on the wire (contract A.1). */
export const seconds = (at: Millis): number => Math.floor(at / 1000);

/** Waits for the work, but no longer than `ms`, and leaves no timer behind to keep the process alive. */
export const atMost = async (ms: Millis, work: Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
};
