import type { Millis } from '../../clock.ts';

/** How long one request to an upstream may take. Each of them ends it as `provider_timeout`. */
export interface Deadlines {
  /** From the request to the response's head. */
  readonly firstByteMs: Millis;
  /** Between two pieces of the response; the time that the reader takes does not count. */
  readonly idleMs: Millis;
  readonly totalMs: Millis;
}

const MiB = 1_048_576;

/** Largest event of a stream, in bytes. */
export const maxEventBytes = MiB;
/** Largest stream in all: some hundred bytes for each of a million tokens. */
export const maxStreamBytes = 256 * MiB;
/** Of events before the first output that wait for it; beyond it they go on by themselves. */
export const maxHeldBytes = MiB;
/** Largest answer that is not streamed. */
export const maxAnswerBytes = 32 * MiB;
/** How much of the body of an error is read. */
export const maxErrorBytes = 65_536;
/** How long its end is waited for. */
export const maxErrorMs: Millis = 1_000;
/** Bytes of a response that are kept for a reader who is behind; the socket is not read beyond. */
export const maxQueuedBytes = 65_536;
/** After the last event the connection is kept for the next request if it ends within these. */
export const maxDrainMs: Millis = 1_000;
export const maxDrainBytes = 65_536;
/** Deepest nesting of a tool's input. */
export const maxDepth = 128;
