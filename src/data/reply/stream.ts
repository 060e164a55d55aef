import { refusal } from '../../errors.ts';
import { statusOf } from '../../http/error-envelopes.ts';
import type { Sink } from '../../http/route.ts';
import { publish } from '../../telemetry.ts';
import { noTokens } from '../../tokens.ts';
import { UpstreamError } from '../upstream/port.ts';
import { EventOutput } from './event-output.ts';
import type { Generation, Timing } from './generation.ts';
import type { Piece } from './pieces.ts';
import type { First } from './slow-start.ts';
import { tellOperator, upstreamRefusal } from './upstream-refusal.ts';

/** Contract G.5. */
const pingEveryMs = 15_000;

export interface AnswerStream extends Timing {
  readonly first: First<Piece>;
  /** The rest. */
  readonly pieces: AsyncIterator<Piece>;
  readonly generation: Generation;
}

/** Follows the client's pace. A failure in the middle is an `error` event, the last one. */
export const streamAnswer = async (sink: Sink, { first, pieces, generation, clock, after }: AnswerStream) => {
  const { form, account, watch, signal } = generation;
  // A held answer was charged before it was released.
  const isCharged = watch?.holds === true;
  const output = new EventOutput({ sink, clock, after, ping: form.ping, keepAliveMs: pingEveryMs });
  let last: Buffer | undefined;
  let passed: Buffer | undefined;
  let isBegun = false;
  try {
    let [piece, start] = await begun(first, output, generation);
    for (;;) {
      if (!isCharged) account.add(piece);
      if (piece.ended) await account.written;
      const { events, ended, outputBytes } = piece;
      if (typeof events === 'string') {
        output.add(`${start ?? ''}${events}`);
        if (ended) return;
        // Clients wait for the start and for the first token.
        if (start !== null || (outputBytes > 0 && !isBegun)) output.flush();
        isBegun = outputBytes > 0;
      } else {
        passed = start === null ? events : Buffer.concat([start as Buffer, events]);
        if (ended) {
          last = passed;
          return;
        }
        output.send(passed);
      }
      start = null;
      if (output.isFull) await output.room();
      if (sink.gone) return;
      const step = await pieces.next();
      if (step.done === true) throw new UpstreamError('provider_error', 'The provider ended its answer too early.');
      piece = step.value;
    }
  } catch (error) {
    if (!sink.gone && !signal.aborted) output.add(await failureEvent(error, generation, passed));
  } finally {
    // Not awaited: a generator answers only after its pending step.
    pieces.return?.().catch(() => undefined);
    await output.end(last);
  }
};

/** The first piece with what is sent before it. A slow upstream's answer begins without its reported input (contract G.5). */
const begun = async (
  first: First<Piece>,
  output: EventOutput,
  { form, estimatedTokens, hold }: Generation,
): Promise<[Piece, Piece['start']]> => {
  if ('come' in first) return [first.come, first.come.start];
  output.add(form.events(estimatedTokens, hold)({ type: 'start', usage: noTokens }));
  output.flush();
  const piece = await first.coming;
  return [piece, form.keepsLateStart && typeof piece.start !== 'string' ? piece.start : null];
};

const failureEvent = async (
  error: unknown,
  { form, account, requestId }: Generation,
  passed: Buffer | undefined,
): Promise<string> => {
  tellOperator(error, requestId);
  const refused = upstreamRefusal(error, form.reads);
  if (refused === null) publish('request.failed', { requestId, error });
  account.fail(error, refused === null ? 500 : statusOf(refused.code, form.family, refused.status));
  await account.written;
  const told = refused === null ? refusal('internal_error') : (form.inPlace?.(refused) ?? refused);
  return form.error(told, requestId, passed);
};
