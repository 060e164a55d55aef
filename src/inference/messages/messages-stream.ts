import type { Cancellation } from '../../cancellation.ts';
import type { Clock, Millis } from '../../clock.ts';
import { refusal } from '../../errors.ts';
import type { Sink } from '../../http/route.ts';
import { publish } from '../../telemetry.ts';
import { type Chunk, UpstreamError } from '../../upstream/port.ts';
import type { Spending } from '../spending.ts';
import { upstreamRefusal } from '../upstream-refusal.ts';
import { type After, EventOutput } from './event-output.ts';
import { errorEvent, pingEvent } from './messages-events.ts';

export interface MessageStream {
  readonly requestId: string;
  /** Taken before the status was committed; the rest is in `chunks`. */
  readonly first: Chunk;
  readonly chunks: AsyncIterator<Chunk>;
  readonly toEvents: (chunk: Chunk) => string;
  /** Is shown every chunk. */
  readonly spending: Pick<Spending, 'add'>;
  /** Fires when the client leaves; the upstream has it too. */
  readonly signal: Cancellation;
  readonly clock: Clock;
  readonly after: After;
}

/** contract G.5. */
const pingEveryMs: Millis = 15_000;

/**
 * The first chunk of an answer. An upstream that fails before it has not cost the caller the status (contract G.5).
 *
 * @throws UpstreamError
 */
export const firstChunk = async (chunks: AsyncIterator<Chunk>): Promise<Chunk> => {
  const step = await chunks.next();
  if (step.done !== true && step.value.type === 'start') return step.value;
  stop(chunks);
  throw new UpstreamError('provider_error', 'The provider sent no answer.');
};

/**
 * Sends an answer as it is produced. The next chunk is asked for when the client has room for it. A failure in the
 * middle is told as an `error` event, after which nothing follows; a client that leaves ends it silently.
 */
export const streamMessage = async (sink: Sink, stream: MessageStream): Promise<void> => {
  const { chunks, toEvents, spending, clock, after, signal } = stream;
  const output = new EventOutput({ sink, clock, after, ping: pingEvent, keepAliveMs: pingEveryMs });
  try {
    spending.add(stream.first);
    output.add(toEvents(stream.first));
    output.flush();
    let isBegun = false;
    for (;;) {
      await output.room();
      if (sink.gone) return;
      const step = await chunks.next();
      if (step.done === true) throw new UpstreamError('provider_error', 'The provider ended its answer too early.');
      spending.add(step.value);
      output.add(toEvents(step.value));
      if (step.value.type === 'end') return;
      if (isBegun || step.value.type !== 'block_delta') continue;
      // The first token is what clients wait for: it does not wait for the rest of what came with it.
      output.flush();
      isBegun = true;
    }
  } catch (error) {
    if (!sink.gone && !signal.aborted) output.add(failureEvent(error, stream.requestId));
  } finally {
    stop(chunks);
    await output.end();
  }
};

const failureEvent = (error: unknown, requestId: string): string => {
  const refused = upstreamRefusal(error);
  if (refused === null) publish('request.failed', { requestId, error });
  return errorEvent(refused ?? refusal('internal_error'), requestId);
};

/** Lets an upstream clean up, without waiting for it: a generator answers only when its pending step has ended. */
const stop = (chunks: AsyncIterator<Chunk>): void => {
  chunks.return?.().catch(() => undefined);
};
