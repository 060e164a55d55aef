import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Allowance, Reply } from '../../http/route.ts';
import type { Answer, Chunk } from '../../upstream/port.ts';
import { Spending, tokensTaken } from '../spending.ts';
import { upstreamRefusal } from '../upstream-refusal.ts';
import type { After } from './event-output.ts';
import { type Envelope, messageResource } from './messages-answer.ts';
import { messageEvents } from './messages-events.ts';
import { firstChunk, streamMessage } from './messages-stream.ts';
import { inTime } from './slow-start.ts';

/** What is left of a request that has passed every check and been given to its upstream: not the request itself, which may be large. */
export interface Generation {
  readonly envelope: Envelope;
  /** Of the input, by contract F.4. */
  readonly estimatedTokens: number;
  /** Its tokens are reserved. */
  readonly allowance: Allowance;
  readonly requestId: string;
  /** Fires when the client leaves. */
  readonly signal: Cancellation;
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

/** For nobody: the client has left, which is not a failure. */
const abandoned: Reply = { status: 499, body: '{}' };

/** The answer in one piece (contract G.3). */
export const wholeReply = async (asked: Promise<Answer>, generation: Generation): Promise<Reply> => {
  const { envelope, estimatedTokens, allowance } = generation;
  try {
    const answer = await asked;
    allowance.spent = tokensTaken(answer.usage, estimatedTokens);
    allowance.settle();
    return { status: 200, body: messageResource(envelope, answer) };
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** The answer as server-sent events; what fails before the first of them is an ordinary error (contract G.5). */
export const streamedReply = async (
  asked: AsyncIterable<Chunk>,
  generation: Generation,
  timing: Timing,
): Promise<Reply> => {
  const { envelope, estimatedTokens, allowance, requestId, signal } = generation;
  try {
    const chunks = asked[Symbol.asyncIterator]();
    const first = await inTime(firstChunk(chunks), timing.after);
    const toEvents = messageEvents(envelope, estimatedTokens);
    const spending = new Spending(allowance, estimatedTokens);
    return {
      status: 200,
      headers: streamHeaders,
      stream: (sink) => streamMessage(sink, { requestId, first, chunks, toEvents, spending, signal, ...timing }),
    };
  } catch (error) {
    return failedReply(error, generation);
  }
};

/** @throws what is not an UpstreamError: a fault of ours */
export const failedReply = (error: unknown, { signal, requestId }: Generation): Reply => {
  if (signal.aborted) return abandoned;
  const refused = upstreamRefusal(error);
  if (refused === null) throw error;
  return failure(refused, 'messages', requestId);
};
