import type { Refusal } from '../../errors.ts';
import type { Family, Hold } from '../../http/route.ts';
import type { Answer, Chunk } from '../upstream/port.ts';

export interface AnswerForm {
  readonly family: Family;
  /** The member of a request with what the model reads. */
  readonly reads: 'messages' | 'input';
  /** A string is JSON already. */
  readonly whole: (answer: Answer) => object | string;
  /** @param estimatedTokens replaces an unreported input. @throws AnswerWithheld without room */
  readonly events: (estimatedTokens: number, hold: Hold) => (chunk: Chunk) => string;
  /** Events are independent, so an upstream's late first events may follow our own beginning. */
  readonly keepsLateStart?: true;
  /** Keeps a client from giving up. */
  readonly ping: string;
  /** Translates the places of a refusal; absent if they are the client's already. */
  readonly inPlace?: (refused: Refusal) => Refusal;
  readonly error: (refused: Refusal, requestId: string, passed?: Buffer) => string;
}
