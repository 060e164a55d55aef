import { isRefusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Reply } from '../../http/route.ts';
import type { ResponseText } from '../../rules/text/request-text.ts';
import type { Count } from '../account/answer-count.ts';
import { writtenBytesOf } from '../upstream/estimate.ts';
import type {
  Answer,
  GenerateOptions,
  GenerateRequest,
  PassedAnswer,
  PassedRequest,
  Passing,
  Upstream,
  WrittenRequest,
} from '../upstream/port.ts';
import { writtenBytesIn } from '../upstream/transport/told.ts';
import type { AnswerForm } from './answer-form.ts';
import { type AnswerJudge, answerOf, judgeWhole, passedText } from './answer-judge.ts';
import type { Generation, Timing } from './generation.ts';
import { judgedChunks, judgedEvents } from './held.ts';
import { firstPiece, type Piece, translatedPieces } from './pieces.ts';
import { inTime } from './slow-start.ts';
import { streamAnswer } from './stream.ts';
import { AnswerWithheld, tellOperator, upstreamRefusal } from './upstream-refusal.ts';

const streamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache',
  'X-Accel-Buffering': 'no',
};

/** The client has left; not sent. */
export const abandoned: Reply = { status: 499, body: '{}' };

/** How an answer in one piece is charged, judged and sent. */
interface WholeKind<T> {
  readonly count: (answer: T) => Count;
  /** Bytes of its text. */
  readonly written: (answer: T) => number;
  readonly body: (answer: T, form: AnswerForm) => object | string | Uint8Array;
  /** As policies read it. */
  readonly text: (answer: T, watch: AnswerJudge) => ResponseText;
}

const translatedWhole: WholeKind<Answer> = {
  count: ({ content, usage }) => ({ usage, outputBytes: usage.output_tokens > 0 ? 0 : writtenBytesOf(content) }),
  written: ({ content }) => writtenBytesOf(content),
  body: (answer, form) => form.whole(answer),
  text: (answer, watch) => answerOf(answer.content, answer, watch),
};

const passedWhole: WholeKind<PassedAnswer> = {
  count: (answer) => answer,
  written: ({ body }) => writtenBytesIn(body),
  body: ({ body }) => body,
  text: ({ body }, watch) => passedText(watch, body),
};

/** Settles a whole answer, and sends it or the refusal of the policy that withholds it. */
const wholeReply = async <T>(asked: Promise<T>, kind: WholeKind<T>, generation: Generation): Promise<Reply> => {
  const { account, watch, form, requestId } = generation;
  try {
    const answer = await asked;
    account.arrived(kind.count(answer), () => kind.written(answer));
    const judged = watch === null ? {} : await judgeWhole(watch, () => kind.text(answer, watch), requestId);
    const reply: Reply = isRefusal(judged)
      ? failure(judged, form.family, requestId)
      : { status: 200, headers: judged, body: kind.body(answer, form) };
    account.completeWhole(reply.status);
    await account.written;
    return reply;
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** Failures before the first event are ordinary errors (contract G.5). */
const streamedReply = async (pieces: AsyncIterator<Piece>, generation: Generation, timing: Timing): Promise<Reply> => {
  try {
    const first = await inTime(firstPiece(pieces), timing.after);
    return {
      status: 200,
      headers: streamHeaders,
      stream: (sink) => streamAnswer(sink, { first, pieces, generation, ...timing }),
    };
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** Usage that an upstream counts is charged even if no answer comes. */
const optionsOf = (generation: Generation): GenerateOptions => {
  const { account, signal, requestId, trace } = generation;
  return {
    signal,
    requestId,
    trace,
    counted: (usage) => account.counted(usage),
    hold: holdingWhole(generation),
  };
};

/** Without room for more, what has come is charged, estimated by its bytes. */
const holdingWhole = ({ hold, account }: Generation): GenerateOptions['hold'] => {
  let come = 0;
  return (bytes) => {
    come += bytes;
    const refused = hold(bytes);
    if (refused === undefined) return;
    account.withheld(come);
    throw new AnswerWithheld(refused);
  };
};

/** Answers with what the upstream says, in the form of the client's API. */
export const translatedReply = (
  { upstream, request }: { readonly upstream: Upstream; readonly request: GenerateRequest | WrittenRequest },
  isStreamed: boolean,
  generation: Generation,
  timing: Timing,
): Promise<Reply> => {
  const options = optionsOf(generation);
  if (!isStreamed) return wholeReply(upstream.answer(request, options), translatedWhole, generation);
  const { form, estimatedTokens, hold } = generation;
  const chunks = judgedChunks(upstream.stream(request, options), generation);
  return streamedReply(translatedPieces(chunks, form.events(estimatedTokens, hold)), generation, timing);
};

/** Answers with the upstream's own bytes. */
export const passedReply = (
  passing: Passing,
  request: PassedRequest,
  isStreamed: boolean,
  generation: Generation,
  timing: Timing,
): Promise<Reply> => {
  const options = optionsOf(generation);
  if (!isStreamed) return wholeReply(passing.answer(request, options), passedWhole, generation);
  const pieces = judgedEvents(passing.stream(request, options), generation);
  return streamedReply(pieces[Symbol.asyncIterator](), generation, timing);
};

const failedReply = async (error: unknown, { form, account, signal, requestId }: Generation): Promise<Reply> => {
  if (signal.aborted) return abandoned;
  const refused = upstreamRefusal(error, form.reads);
  if (refused === null) {
    account.fail(error, 500);
    await account.written;
    throw error;
  }
  tellOperator(error, requestId);
  const reply = failure(form.inPlace?.(refused) ?? refused, form.family, requestId);
  account.fail(error, reply.status);
  await account.written;
  return reply;
};
