import { type Code, catalogue, type Refusal, refusal } from '../../errors.ts';
import { preview } from '../../http/validation/preview.ts';
import { publish } from '../../telemetry.ts';
import { AnswerUnwanted, UpstreamError } from '../upstream/port.ts';
import type { AnswerForm } from './answer-form.ts';

/** A policy holds it back, or there is no room for it. */
export class AnswerWithheld extends AnswerUnwanted {
  override readonly name = 'AnswerWithheld';
  readonly refusal: Refusal;
  constructor(refused: Refusal) {
    super(refused.message);
    this.refusal = refused;
  }
}

/** Unspecified: the default pause after an overload; contract E.2 wants 1 to 30 s. */
const overloadSeconds = 5;

/** Contract L.4; null for other errors, which are faults of ours. */
export const upstreamRefusal = (error: unknown, reads: AnswerForm['reads'] = 'messages'): Refusal | null => {
  if (error instanceof AnswerWithheld) return error.refusal;
  if (!(error instanceof UpstreamError)) return null;
  const { code, message, retryAfterSeconds, status, told } = error;
  if (told !== undefined && isCodeOf(told.code, status)) {
    const details = told.details.map(({ loc, msg, type, input, ctx }) => ({
      loc,
      msg,
      type,
      input: preview(input),
      ctx,
    }));
    return refusal(told.code, { message, param: told.param, details });
  }
  // Upstreams send 400 where Weir sends 422.
  if (code === 'context_length_exceeded')
    return refusal(code, { message, param: reads, ...(status === 400 && { status }) });
  const pause = retryAfterSeconds ?? (code === 'provider_overloaded' ? overloadSeconds : undefined);
  if (pause === undefined) return refusal(code, { message });
  return refusal(code, { message, headers: { 'Retry-After': String(Math.min(30, Math.max(1, Math.ceil(pause)))) } });
};

/** Their reasons are only for the operator. */
const untold: ReadonlySet<UpstreamError['code']> = new Set([
  'provider_error',
  'provider_overloaded',
  'provider_timeout',
]);

/** Logs the reason that the client does not get. */
export const tellOperator = (error: unknown, requestId: string): void => {
  if (!(error instanceof UpstreamError) || !untold.has(error.code)) return;
  publish('upstream.failed', { requestId, code: error.code, reason: error.reason, length: error.length });
};

/** Whether Weir's code has this status, or had it before an API changed 422 to 400 (contract G.6). */
const isCodeOf = (code: string, status: number | undefined): code is Code => {
  if (!Object.hasOwn(catalogue, code)) return false;
  const own = catalogue[code as Code].status;
  return own === status || (own === 422 && status === 400);
};
