import type { Refusal } from '../../errors.ts';
import type { Outcome } from '../../policies/outcome.ts';
import { streamedText } from '../../rules/text/answer-stream.ts';
import { answerText, inputOf } from '../../rules/text/answer-text.ts';
import type { RequestText, ResponseText } from '../../rules/text/request-text.ts';
import { publish } from '../../telemetry.ts';
import type { Answer, Chunk, PassedEvents } from '../../upstream/port.ts';

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
export const judgeLater = (watch: AnswerWatch, answer: () => ResponseText, requestId: string): void => {
  setImmediate(() => {
    void (async () => watch.judge(answer()))().catch((error: unknown) =>
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

export const answerOf = ({ content, stop_reason, usage }: Answer): ResponseText => ({
  content,
  stopReason: stop_reason,
  outputTokens: usage.output_tokens,
});

/** An answer that is put together while it is streamed. */
export interface Collected<T> {
  add(piece: T): void;
  readonly text: () => ResponseText;
}

/** Of the events of an upstream, as they come. */
export const collectedEvents = (endpoint: RequestText['endpoint']): Collected<PassedEvents> => {
  const { add, text } = streamedText(endpoint);
  return {
    add({ start, events }) {
      if (start !== null) add(start.toString());
      add(events.toString());
    },
    text,
  };
};

/** Of chunks. */
export const collectedChunks = (): Collected<Chunk> => {
  const blocks: { type: string; [field: string]: unknown }[] = [];
  const inputs = new Map<number, string>();
  let stopReason = '';
  let outputTokens = 0;
  return {
    add(chunk) {
      if (chunk.type === 'block_start') blocks[chunk.index] = { ...chunk.block };
      else if (chunk.type === 'block_delta') {
        const { delta, index } = chunk;
        const block = blocks[index]!;
        if (delta.type === 'text_delta') block.text = `${block.text}${delta.text}`;
        else if (delta.type === 'thinking_delta') block.thinking = `${block.thinking}${delta.thinking}`;
        else if (delta.type === 'signature_delta') block.signature = `${block.signature}${delta.signature}`;
        else if (delta.type === 'input_json_delta') inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json);
      } else if (chunk.type === 'end') {
        stopReason = chunk.stop_reason;
        outputTokens = chunk.usage.output_tokens;
      }
    },
    text() {
      const content = blocks.map((block, index) => {
        const input = inputs.get(index);
        return input === undefined ? block : { ...block, input: inputOf(input) };
      });
      return { content, stopReason, outputTokens };
    },
  };
};
