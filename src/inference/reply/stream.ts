import type { Cancellation } from '../../cancellation.ts';
import type { Clock, Millis } from '../../clock.ts';
import { refusal } from '../../errors.ts';
import { statusOf } from '../../http/error-envelopes.ts';
import type { Meter, Sink } from '../../http/route.ts';
import { publish } from '../../telemetry.ts';
import { type Chunk, noUsage, UpstreamError } from '../../upstream/port.ts';
import { failMeter, type Most, type Spending } from '../spending.ts';
import { tellOperator, upstreamRefusal } from '../upstream-refusal.ts';
import type { AnswerForm } from './answer-form.ts';
import { type After, EventOutput } from './event-output.ts';
import type { First } from './slow-start.ts';

export interface AnswerStream {
  readonly form: Pick<AnswerForm, 'family' | 'ping' | 'error' | 'inPlace'>;
  readonly meter: Pick<Meter, 'fail' | 'complete'>;
  readonly most: Most;
  readonly requestId: string;
  readonly first: First<Chunk>;
  readonly chunks: AsyncIterator<Chunk>;
  readonly toEvents: (chunk: Chunk) => string;
  readonly spending: Pick<Spending, 'add'>;
  readonly signal: Cancellation;
  readonly clock: Clock;
  readonly after: After;
}

/** Contract G.5. */
export const pingEveryMs: Millis = 15_000;

/** An upstream that fails before it does not cost the status (contract G.5). @throws UpstreamError */
export const firstChunk = async (chunks: AsyncIterator<Chunk>): Promise<Chunk> => {
  const step = await chunks.next();
  if (step.done !== true && step.value.type === 'start') return step.value;
  stop(chunks);
  throw new UpstreamError('provider_error', 'The provider sent no answer.');
};

/** A failure becomes an `error` event, the last one; a client that leaves ends it silently. */
export const streamAnswer = async (sink: Sink, stream: AnswerStream): Promise<void> => {
  const { form, chunks, toEvents, spending, clock, after, signal } = stream;
  const output = new EventOutput({ sink, clock, after, ping: form.ping, keepAliveMs: pingEveryMs });
  try {
    await begin(stream, output);
    let isBegun = false;
    for (;;) {
      if (output.isFull) await output.room();
      if (sink.gone) return;
      const step = await chunks.next();
      if (step.done === true) throw new UpstreamError('provider_error', 'The provider ended its answer too early.');
      spending.add(step.value);
      output.add(toEvents(step.value));
      if (step.value.type === 'end') return;
      if (isBegun || step.value.type !== 'block_delta') continue;
      // Clients wait for the first token, so it is sent at once.
      output.flush();
      isBegun = true;
    }
  } catch (error) {
    if (!sink.gone && !signal.aborted) output.add(failureEvent(error, stream));
  } finally {
    stop(chunks);
    await output.end();
  }
};

/** A slow upstream's answer begins without it, so without its reported input (contract G.5). */
const begin = async ({ first, spending, toEvents }: AnswerStream, output: EventOutput): Promise<void> => {
  const known: Chunk = 'come' in first ? first.come : { type: 'start', usage: noUsage };
  output.add(toEvents(known));
  output.flush();
  spending.add('come' in first ? known : await first.coming);
};

export const failureEvent = (
  error: unknown,
  { form, meter, most, requestId }: Pick<AnswerStream, 'form' | 'meter' | 'most' | 'requestId'>,
  passed?: Buffer,
): string => {
  tellOperator(error, requestId);
  const refused = upstreamRefusal(error);
  const status = refused === null ? 500 : statusOf(refused.code, form.family, refused.status);
  failMeter(error, { meter, most }, status);
  if (refused === null) {
    publish('request.failed', { requestId, error });
    return form.error(refusal('internal_error'), requestId, passed);
  }
  return form.error(form.inPlace?.(refused) ?? refused, requestId, passed);
};

/** Not awaited: a generator answers only after its pending step. */
const stop = (chunks: AsyncIterator<Chunk>): void => {
  chunks.return?.().catch(() => undefined);
};
