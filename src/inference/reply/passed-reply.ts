import { isRefusal, type Refusal, refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Head, Reply } from '../../http/route.ts';
import { writtenBytesIn } from '../../upstream/openai/written.ts';
import type { PassedAnswer, PassedEvents, PassedRequest, Passing } from '../../upstream/port.ts';
import { believed, outputOf, sentTokens, tokensTaken } from '../spending.ts';
import { judgeWhole, passedText } from './answer-watch.ts';
import { watchedEvents } from './held.ts';
import { firstPassed, spend, streamPassed } from './passed-stream.ts';
import { failedReply, type Generation, noHeaders, optionsOf, streamHeaders, type Timing } from './reply.ts';
import { inTime } from './slow-start.ts';

const ascii = /^[\t\x20-\x7e]*$/;

/**
 * Of the client's headers those that go on to its upstream, where they say something. What no header may hold is refused here: it
 * could not be sent, which would look like a failure of the upstream.
 */
export const passedHeaders = (head: Head, names: readonly string[]): Readonly<Record<string, string>> | Refusal => {
  const headers: Record<string, string> = {};
  for (const name of names) {
    const value = head.header(name, true);
    if (value === undefined || value === '') continue;
    if (!ascii.test(value)) {
      return refusal('invalid_request', { message: `The header ${name} is not in ASCII.`, param: `header.${name}` });
    }
    headers[name] = value;
  }
  return headers;
};

/** An upstream's own answer in one piece. */
const passedWhole = async (asked: Promise<PassedAnswer>, generation: Generation): Promise<Reply> => {
  const { estimatedTokens, most, allowance, meter, watch, requestId, form } = generation;
  try {
    const { body, usage: told, outputBytes } = await asked;
    // The text of an answer that is counted is looked for where there is more than was asked for.
    const isBeyond = outputBytes === 0 && told.output_tokens > most.output;
    const usage = believed(told, most, isBeyond ? writtenBytesIn(body) : outputBytes);
    const sent = sentTokens(outputBytes, most);
    allowance.spent = tokensTaken(usage, outputOf(usage, sent), estimatedTokens);
    const judged = watch === null ? noHeaders : await judgeWhole(watch, () => passedText(watch, body), requestId);
    allowance.settle();
    if (!isRefusal(judged)) {
      meter.complete(usage, sent);
      return { status: 200, headers: judged, body };
    }
    const blocked = failure(judged, form.family, requestId);
    meter.complete(usage, sent, blocked.status);
    return blocked;
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** An upstream's own events; what fails before the first of them is an ordinary error (contract G.5). */
const passedStream = async (
  asked: AsyncIterable<PassedEvents>,
  generation: Generation,
  timing: Timing,
): Promise<Reply> => {
  const { watch, hold, requestId, form } = generation;
  try {
    const spendHere = (piece: PassedEvents, status?: number) => spend(piece, generation, status);
    const watching = watch && { watch, requestId, family: form.family, hold, spend: spendHere };
    const pieces = (watching ? watchedEvents(asked, watching) : asked)[Symbol.asyncIterator]();
    // What is held has been spent before it is released.
    const spending = watch?.holds ? () => {} : spendHere;
    const first = await inTime(firstPassed(pieces), timing.after);
    return {
      status: 200,
      headers: streamHeaders,
      stream: (sink) => streamPassed(sink, { first, pieces, generation, spending, ...timing }),
    };
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** Asks an upstream that speaks the client's API, and answers with its own bytes. */
export const passedReply = (
  passing: Passing,
  request: PassedRequest,
  isStreamed: boolean,
  generation: Generation,
  timing: Timing,
): Promise<Reply> => {
  const options = optionsOf(generation);
  return isStreamed
    ? passedStream(passing.stream(request, options), generation, timing)
    : passedWhole(passing.answer(request, options), generation);
};
