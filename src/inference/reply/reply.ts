import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import { isRefusal, type Refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Allowance, Headers, Hold, Meter, Reply } from '../../http/route.ts';
import { estimateTokensOf, writtenBytesOf } from '../../upstream/estimate.ts';
import {
  type Answer,
  type Chunk,
  type GenerateOptions,
  type GenerateRequest,
  noUsage,
  type Upstream,
  type Usage,
  type WrittenRequest,
} from '../../upstream/port.ts';
import { believed, failMeter, type Most, outputOf, Spending, sentTokens, tokensTaken } from '../spending.ts';
import { AnswerWithheld, tellOperator, upstreamRefusal } from '../upstream-refusal.ts';
import type { AnswerForm } from './answer-form.ts';
import { type AnswerWatch, answerOf, judgeWhole } from './answer-watch.ts';
import type { After } from './event-output.ts';
import type { Growth } from './growth.ts';
import { watchedChunks } from './held.ts';
import { inTime } from './slow-start.ts';
import { firstChunk, streamAnswer } from './stream.ts';

/** What remains of a request given to its upstream, without the request, which may be large. */
export interface Generation {
  readonly form: AnswerForm;
  readonly estimatedTokens: number;
  readonly most: Most;
  readonly allowance: Allowance;
  readonly grow: Growth;
  readonly meter: Meter;
  readonly hold: Hold;
  readonly requestId: string;
  readonly trace: GenerateOptions['trace'];
  readonly signal: Cancellation;
  /** Null without response policies. */
  readonly watch: AnswerWatch | null;
}

export interface Timing {
  readonly clock: Clock;
  readonly after: After;
}

export const streamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache',
  'X-Accel-Buffering': 'no',
};

export const noHeaders: Headers = Object.freeze({});

/** The client has left; not sent. */
const abandoned: Reply = { status: 499, body: '{}' };

/** Settles a whole answer, and sends it or the refusal of the policy that withholds it. */
export const judgedReply = (
  judged: Headers | Refusal,
  body: () => object | string | Uint8Array,
  usage: Usage,
  sent: number,
  { allowance, meter, form, requestId }: Generation,
): Reply => {
  allowance.settle();
  if (!isRefusal(judged)) {
    meter.complete(usage, sent);
    return { status: 200, headers: judged, body: body() };
  }
  const blocked = failure(judged, form.family, requestId);
  meter.complete(usage, sent, blocked.status);
  return blocked;
};

const wholeReply = async (asked: Promise<Answer>, generation: Generation): Promise<Reply> => {
  const { form, estimatedTokens, most, allowance, watch, requestId } = generation;
  try {
    const answer = await asked;
    const isPlain = answer.usage.output_tokens > 0 && answer.usage.output_tokens <= most.output;
    const written = isPlain ? 0 : writtenBytesOf(answer.content);
    const usage = believed(answer.usage, most, written);
    const sent = usage.output_tokens > 0 && !usage.isPartial ? 0 : sentTokens(written, most);
    allowance.spent = tokensTaken(usage, outputOf(usage, sent), estimatedTokens);
    const judged =
      watch === null ? noHeaders : await judgeWhole(watch, () => answerOf(answer.content, answer, watch), requestId);
    return judgedReply(judged, () => form.whole(answer), usage, sent, generation);
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** Failures before the first event are ordinary errors (contract G.5). */
const streamedReply = async (
  asked: AsyncIterable<Chunk>,
  spent: Spending,
  generation: Generation,
  timing: Timing,
): Promise<Reply> => {
  const { form, estimatedTokens, hold, meter, most, requestId, signal, watch } = generation;
  try {
    const spend = (chunk: Chunk, status?: number) => spent.add(chunk, status);
    const watching = watch && { watch, requestId, family: form.family, hold, spend };
    const chunks = (watching ? watchedChunks(asked, watching) : asked)[Symbol.asyncIterator]();
    // Held answers were spent before release.
    const spending = watch?.holds ? { add: () => {} } : spent;
    const first = await inTime(firstChunk(chunks), timing.after);
    const toEvents = form.events(estimatedTokens, hold);
    return {
      status: 200,
      headers: streamHeaders,
      stream: (sink) =>
        streamAnswer(sink, { form, meter, most, requestId, first, chunks, toEvents, spending, signal, ...timing }),
    };
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** Usage that an upstream counts is charged even if no answer comes. */
export const optionsOf = (
  generation: Generation,
  counted = (usage: Usage): void => generation.meter.progress(believed(usage, generation.most), 0),
): GenerateOptions => {
  const { signal, requestId, trace } = generation;
  return { signal, requestId, trace, counted, hold: holdingWhole(generation) };
};

/** Without room for more, what has come is charged, estimated by its bytes. */
const holdingWhole = ({ hold, allowance, meter, most, estimatedTokens }: Generation): GenerateOptions['hold'] => {
  let come = 0;
  return (bytes) => {
    come += bytes;
    const refused = hold(bytes);
    if (refused === undefined) return;
    // The bytes are not only text.
    const sent = Math.min(estimateTokensOf(come), most.output);
    allowance.spent = tokensTaken(noUsage, sent, estimatedTokens);
    meter.progress(noUsage, sent);
    throw new AnswerWithheld(refused);
  };
};

export const answerReply = (
  { upstream, request }: { readonly upstream: Upstream; readonly request: GenerateRequest | WrittenRequest },
  isStreamed: boolean,
  generation: Generation,
  timing: Timing,
): Promise<Reply> => {
  if (!isStreamed) return wholeReply(upstream.answer(request, optionsOf(generation)), generation);
  const spent = new Spending(generation);
  const options = optionsOf(generation, (usage) => spent.count(usage));
  return streamedReply(upstream.stream(request, options), spent, generation, timing);
};

export const failedReply = (error: unknown, generation: Generation): Reply => {
  const { form, meter, signal, requestId } = generation;
  if (signal.aborted) return abandoned;
  const refused = upstreamRefusal(error);
  if (refused === null) {
    meter.fail(500);
    throw error;
  }
  tellOperator(error, requestId);
  const reply = failure(form.inPlace?.(refused) ?? refused, form.family, requestId);
  failMeter(error, generation, reply.status);
  return reply;
};
