import type { Head, Reply } from '../../http/route.ts';
import { estimateTokensOf } from '../../upstream/estimate.ts';
import type { PassedAnswer, PassedEvents, PassedRequest, Passing } from '../../upstream/port.ts';
import { tokensTaken } from '../spending.ts';
import { firstPassed, streamPassed } from './passed-stream.ts';
import { failedReply, type Generation, streamHeaders, type Timing } from './reply.ts';
import { inTime } from './slow-start.ts';

/** Of the client's headers those that go on to its upstream, where they say something. */
export const passedHeaders = (head: Head, names: readonly string[]): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {};
  for (const name of names) {
    const value = head.header(name);
    if (value !== undefined && value !== '') headers[name] = value;
  }
  return headers;
};

/** An upstream's own answer in one piece. */
const passedWhole = async (asked: Promise<PassedAnswer>, generation: Generation): Promise<Reply> => {
  const { estimatedTokens, allowance, meter } = generation;
  try {
    const { body, usage } = await asked;
    allowance.spent = tokensTaken(usage, estimatedTokens);
    allowance.settle();
    meter.complete(usage, usage.output_tokens > 0 ? 0 : estimateTokensOf(body.length));
    return { status: 200, body };
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
  try {
    const pieces = asked[Symbol.asyncIterator]();
    const first = await inTime(firstPassed(pieces), timing.after);
    return {
      status: 200,
      headers: streamHeaders,
      stream: (sink) => streamPassed(sink, { first, pieces, generation, ...timing }),
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
  const { signal, requestId } = generation;
  return isStreamed
    ? passedStream(passing.stream(request, { signal, requestId }), generation, timing)
    : passedWhole(passing.answer(request, { signal, requestId }), generation);
};
