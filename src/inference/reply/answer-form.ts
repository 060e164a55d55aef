import type { Refusal } from '../../errors.ts';
import type { Family, Hold } from '../../http/route.ts';
import type { Answer, Chunk } from '../../upstream/port.ts';

/** How one API writes an answer, whole or as server-sent events, for one request. */
export interface AnswerForm {
  readonly family: Family;
  /** What is sent as JSON; a string is JSON already. */
  readonly whole: (answer: Answer) => object | string;
  /**
   * Writes the chunks of one answer, each of them in turn. It throws AnswerWithheld where it has no room for what it keeps of them.
   * @param estimatedTokens stands in for an input that nobody reports
   */
  readonly events: (estimatedTokens: number, hold: Hold) => (chunk: Chunk) => string;
  /** Whether what an upstream says before its first text may come behind a beginning of ours, for each event stands by itself. */
  readonly keepsLateStart?: true;
  /** What a client is sent so that it does not give up. */
  readonly ping: string;
  /** A refusal of an upstream, told by what the caller sent; absent where that has the same names. */
  readonly inPlace?: (refused: Refusal) => Refusal;
  /** An error after the first byte. @param passed events of the upstream that were sent last, where it has begun the answer itself */
  readonly error: (refused: Refusal, requestId: string, passed?: Buffer) => string;
}
