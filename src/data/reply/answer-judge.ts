import type { TextApi } from '../../apis.ts';
import type { Refusal } from '../../errors.ts';
import { answerText } from '../../rules/text/answer-text.ts';
import type { ResponseText } from '../../rules/text/request-text.ts';
import { publish } from '../../telemetry.ts';
import type { Outcome } from '../policy/outcome.ts';
import type { Answer } from '../upstream/port.ts';

/** Judges an answer by the response policies (contract G.8). */
export interface AnswerJudge {
  readonly endpoint: TextApi;
  /** Nothing is released before all has been judged. */
  readonly holds: boolean;
  /** The caller has named a policy, so a match is reported. */
  readonly isNamed: boolean;
  judge(answer: ResponseText): Outcome | Promise<Outcome>;
}

/** Judges a released answer in the background; faults go to the operator. */
export const judgeLater = (
  watch: AnswerJudge,
  answer: () => ResponseText | Promise<ResponseText>,
  requestId: string,
): void => {
  setImmediate(() => {
    void (async () => watch.judge(await answer()))().catch((error: unknown) =>
      publish('request.failed', { requestId, error }),
    );
  });
};

/** Waits if the answer is held or a match is reported. Returns headers, or why it is not sent. */
export const judgeWhole = async (
  watch: AnswerJudge | null,
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

export const passedText = ({ endpoint }: AnswerJudge, body: Buffer): ResponseText =>
  answerText(endpoint, body.toString());

export type Ending = Pick<Answer, 'stop_reason' | 'stop_sequence' | 'usage'>;

export const answerOf = (
  content: ResponseText['content'],
  { stop_reason, stop_sequence, usage }: Ending,
  { endpoint }: Pick<AnswerJudge, 'endpoint'>,
): ResponseText => ({
  content,
  stopReason: stop_reason,
  outputTokens: usage.output_tokens,
  // Only messages has it.
  others: endpoint === 'messages' ? { stop_sequence } : undefined,
});
