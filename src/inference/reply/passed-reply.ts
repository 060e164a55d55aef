import { type Refusal, refusal } from '../../errors.ts';
import type { Head, Reply } from '../../http/route.ts';
import { writtenBytesIn } from '../../upstream/openai/written.ts';
import type { PassedAnswer, PassedEvents, PassedRequest, Passing } from '../../upstream/port.ts';
import { believed, outputOf, sentTokens, tokensTaken } from '../spending.ts';
import { judgeWhole, passedText } from './answer-watch.ts';
import { watchedEvents } from './held.ts';
import { firstPassed, spend, streamPassed } from './passed-stream.ts';
import {
  failedReply,
  type Generation,
  judgedReply,
  noHeaders,
  optionsOf,
  streamHeaders,
  type Timing,
} from './reply.ts';
import { inTime } from './slow-start.ts';

const ascii = /^[\t\x20-\x7e]*$/;

/** Values that no header may have are refused here: failing to send them would look like a failure of the upstream. */
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

const passedWhole = async (asked: Promise<PassedAnswer>, generation: Generation): Promise<Reply> => {
  const { estimatedTokens, most, allowance, watch, requestId } = generation;
  try {
    const { body, usage: told, outputBytes } = await asked;
    // Without counted bytes, a count above the request is checked against the text.
    const isBeyond = outputBytes === 0 && told.output_tokens > most.output;
    const usage = believed(told, most, isBeyond ? writtenBytesIn(body) : outputBytes);
    const sent = sentTokens(outputBytes, most);
    allowance.spent = tokensTaken(usage, outputOf(usage, sent), estimatedTokens);
    const judged = watch === null ? noHeaders : await judgeWhole(watch, () => passedText(watch, body), requestId);
    return judgedReply(judged, () => body, usage, sent, generation);
  } catch (error) {
    return failedReply(error, generation);
  }
};

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

/** Answers with the upstream's own bytes. */
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
