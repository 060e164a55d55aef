import type { Head, Reply } from '../../http/route.ts';
import type { PassedAnswer, PassedEvents } from '../../upstream/port.ts';
import { failedReply, type Generation, streamHeaders, type Timing } from '../reply/reply.ts';
import { inTime } from '../reply/slow-start.ts';
import { tokensTaken } from '../spending.ts';
import { firstPassed, streamPassed } from './passed-stream.ts';

/** Headers of a client that mean something to an upstream of the same API (contract N1). */
const passedNames = ['anthropic-version', 'anthropic-beta'] as const;

export const passedHeaders = (head: Head): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {};
  for (const name of passedNames) {
    const value = head.header(name);
    if (value !== undefined && value !== '') headers[name] = value;
  }
  return headers;
};

/** An upstream's own answer in one piece. */
export const passedWhole = async (asked: Promise<PassedAnswer>, generation: Generation): Promise<Reply> => {
  const { estimatedTokens, allowance } = generation;
  try {
    const { body, usage } = await asked;
    allowance.spent = tokensTaken(usage, estimatedTokens);
    allowance.settle();
    return { status: 200, body };
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** An upstream's own events; what fails before the first of them is an ordinary error (contract G.5). */
export const passedStream = async (
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
