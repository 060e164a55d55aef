import { type Code, catalogue, type Refusal, refusal } from '../errors.ts';
import { preview } from '../http/validation/preview.ts';
import { publish } from '../telemetry.ts';
import { AnswerUnwanted, UpstreamError } from '../upstream/port.ts';

/** An answer that its client does not get: a policy keeps it back, or there is no room to keep it. */
export class AnswerWithheld extends AnswerUnwanted {
  override readonly name = 'AnswerWithheld';
  readonly refusal: Refusal;
  constructor(refused: Refusal) {
    super(refused.message);
    this.refusal = refused;
  }
}

/** Unspecified: the pause after an overload for which the provider names none; contract E.2 wants 1 to 30 seconds. */
const overloadSeconds = 5;

/**
 * How a failure of an upstream is told to the caller (contract L.4), and an answer that is withheld; null for anything
 * else, which is a fault of ours.
 */
export const upstreamRefusal = (error: unknown): Refusal | null => {
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
  // An upstream says 400 where a gateway that has counted itself says 422.
  if (code === 'context_length_exceeded')
    return refusal(code, { message, param: 'messages', ...(status === 400 && { status }) });
  const pause = retryAfterSeconds ?? (code === 'provider_overloaded' ? overloadSeconds : undefined);
  if (pause === undefined) return refusal(code, { message });
  return refusal(code, { message, headers: { 'Retry-After': String(Math.min(30, Math.max(1, Math.ceil(pause)))) } });
};

/** Failures whose reason is none of the client's business. */
const untold: ReadonlySet<UpstreamError['code']> = new Set([
  'provider_error',
  'provider_overloaded',
  'provider_timeout',
]);

/** Lets the operator know why an upstream has failed, where the client only hears that it has. */
export const tellOperator = (error: unknown, requestId: string): void => {
  if (!(error instanceof UpstreamError) || !untold.has(error.code)) return;
  publish('upstream.failed', { requestId, code: error.code, reason: error.reason, length: error.length });
};

/** Whether it is a code of ours that has this status, or had before an API that says 400 for 422 told it (contract G.6). */
const isCodeOf = (code: string, status: number | undefined): code is Code => {
  if (!Object.hasOwn(catalogue, code)) return false;
  const own = catalogue[code as Code].status;
  return own === status || (own === 422 && status === 400);
};
