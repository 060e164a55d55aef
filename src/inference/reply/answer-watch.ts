import type { Refusal } from '../../errors.ts';
import type { Outcome } from '../../policies/outcome.ts';
import { answerText } from '../../rules/text/answer-text.ts';
import type { RequestText, ResponseText } from '../../rules/text/request-text.ts';
import { publish } from '../../telemetry.ts';
import type { Answer } from '../../upstream/port.ts';

/** Who judges an answer by the policies of the response direction (contract G.8). */
export interface AnswerWatch {
  readonly endpoint: RequestText['endpoint'];
  /** Nothing of the answer is released before all of it has been judged. */
  readonly holds: boolean;
  /** Whether the caller has named one of them, and so is told that it has matched. */
  readonly isNamed: boolean;
  judge(answer: ResponseText): Outcome | Promise<Outcome>;
}

/** Judges an answer that is not held, once this step is done. It delays nobody, and what goes wrong is told to the operator. */
export const judgeLater = (
  watch: AnswerWatch,
  answer: () => ResponseText | Promise<ResponseText>,
  requestId: string,
): void => {
  setImmediate(() => {
    void (async () => watch.judge(await answer()))().catch((error: unknown) =>
      publish('request.failed', { requestId, error }),
    );
  });
};

/**
 * Judges an answer in one piece: before it is sent where it is held, or where the caller is to be told.
 * @returns headers for the answer, or why it is not sent
 */
export const judgeWhole = async (
  watch: AnswerWatch | null,
  answer: () => ResponseText,
  requestId: string,
): Promise<Readonly<Record<string, string>> | Refusal> => {
  if (watch === null) return {};
  if (watch.holds || watch.isNamed) {
    const { refused, headers } = await watch.judge(answer());
    return refused ?? headers;
  }
  judgeLater(watch, answer, requestId);
  return {};
};

/** The text of an answer that passes. */
export const passedText = ({ endpoint }: AnswerWatch, body: Buffer): ResponseText =>
  answerText(endpoint, body.toString());

/** How an answer has ended. */
export type Ending = Pick<Answer, 'stop_reason' | 'stop_sequence' | 'usage'>;

/** The text of an answer in Weir's own form. */
export const answerOf = (
  content: ResponseText['content'],
  { stop_reason, stop_sequence, usage }: Ending,
  { endpoint }: Pick<AnswerWatch, 'endpoint'>,
): ResponseText => ({
  content,
  stopReason: stop_reason,
  outputTokens: usage.output_tokens,
  // The other APIs do not tell it.
  others: endpoint === 'messages' ? { stop_sequence } : undefined,
});
