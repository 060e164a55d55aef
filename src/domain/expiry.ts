/** Down to a whole second, so that what is shown is what holds (contract C.5). */
export const wholeSecond = (at: number): number => Math.floor(at / 1000) * 1000;

export const nextWholeSecond = (at: number): number => Math.ceil(at / 1000) * 1000;

/** The end of seconds that a command promises: they are not over for a client that has its answer within a second. */
export const promisedEnd = (at: number, wanted: number): number => nextWholeSecond(at + (wanted + 1) * 1000);
