import type { Clock } from '../../clock.ts';
import type { Sink } from '../../http/route.ts';
import { noUsage, type PassedEvents, UpstreamError } from '../../upstream/port.ts';
import { believed, outputOf, sentTokens, tokensTaken } from '../spending.ts';
import { type After, EventOutput } from './event-output.ts';
import type { Generation } from './reply.ts';
import type { First } from './slow-start.ts';
import { failureEvent, pingEveryMs } from './stream.ts';

export interface PassedStream {
  readonly first: First<PassedEvents>;
  readonly pieces: AsyncIterator<PassedEvents>;
  readonly generation: Generation;
  readonly spending: (piece: PassedEvents) => void;
  readonly clock: Clock;
  readonly after: After;
}

export const firstPassed = async (pieces: AsyncIterator<PassedEvents>): Promise<PassedEvents> => {
  const step = await pieces.next();
  if (step.done !== true) return step.value;
  throw new UpstreamError('provider_error', 'The provider sent no answer.');
};

/** A failure becomes an `error` event, the last one; a client that leaves ends it silently. */
export const streamPassed = async (sink: Sink, { first, pieces, generation, spending, clock, after }: PassedStream) => {
  const { form, estimatedTokens, hold, signal } = generation;
  const output = new EventOutput({ sink, clock, after, ping: form.ping, keepAliveMs: pingEveryMs });
  let last: Uint8Array | undefined;
  let sent: Buffer | undefined;
  try {
    let piece: PassedEvents;
    let start: Buffer | null = null;
    if ('come' in first) {
      piece = first.come;
      start = piece.start;
    } else {
      // The upstream was too slow to begin the message.
      output.add(form.events(estimatedTokens, hold)({ type: 'start', usage: noUsage }));
      output.flush();
      piece = await first.coming;
      if (form.keepsLateStart) start = piece.start;
    }
    for (;;) {
      spending(piece);
      const events = start === null ? piece.events : Buffer.concat([start, piece.events]);
      start = null;
      if (piece.ended) {
        last = events;
        return;
      }
      output.send(events);
      sent = events;
      if (output.isFull) await output.room();
      if (sink.gone) return;
      const step = await pieces.next();
      if (step.done === true) throw new UpstreamError('provider_error', 'The provider ended its answer too early.');
      piece = step.value;
    }
  } catch (error) {
    if (!sink.gone && !signal.aborted) output.add(failureEvent(error, generation, sent));
  } finally {
    pieces.return?.().catch(() => undefined);
    await output.end(last);
  }
};

/** A cut-off answer is charged for its input and the output sent, estimated (contract F.4). */
export const spend = (
  { usage: told, outputBytes, ended }: PassedEvents,
  { allowance, grow, meter, estimatedTokens, most }: Generation,
  status = 200,
): void => {
  const usage = believed(told, most, outputBytes);
  const sent = sentTokens(outputBytes, most);
  allowance.spent = tokensTaken(usage, ended ? outputOf(usage, sent) : sent, estimatedTokens);
  if (!ended) grow(sent);
  meter.progress(usage, sent);
  if (ended) meter.complete(usage, sent, status);
};
