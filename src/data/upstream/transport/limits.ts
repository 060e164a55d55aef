import type { Millis } from '../../../clock.ts';

/** Each ends the request as `provider_timeout`. */
export interface Deadlines {
  /** From the request to the response's head. */
  readonly firstByteMs: Millis;
  /** Excludes the reader's time. */
  readonly idleMs: Millis;
  readonly totalMs: Millis;
}

const MiB = 1_048_576;

export const maxEventBytes = MiB;
/** Some hundred bytes for each of a million tokens. */
export const maxStreamBytes = 256 * MiB;
/** Events before the first output wait for it up to this size. */
export const maxHeldBytes = MiB;
/** Largest answer that is not streamed. */
export const maxAnswerBytes = 32 * MiB;
/** An organization's share of what is held in memory (contract L.4). 2,048 embeddings of 3,072 numbers take 33 MB as Base64. */
export const maxEmbeddingsBytes = 64 * MiB;
export const maxErrorBytes = 65_536;
export const maxErrorMs: Millis = 1_000;
/** Beyond it the socket is not read. */
export const maxQueuedBytes = 65_536;
/** A connection whose response ends within this time after the last event is reused. */
export const maxDrainMs: Millis = 1_000;
export const maxDrainBytes = 65_536;
/** Deepest nesting of a tool's input. */
export const maxDepth = 128;
