import type { Millis } from '../../../clock.ts';
import { noTokens, type Usage } from '../../../tokens.ts';
import { estimateTokensOf } from '../estimate.ts';
import type { HttpFault } from '../http1/fault.ts';
import { type UpstreamCode, UpstreamError } from '../port.ts';
import { SseError } from './event-frames.ts';
import { reasonOfError, reasonOfFault } from './failure-reason.ts';
import { toldRefusal } from './told-refusal.ts';

/** Shown instead of the upstream's words, which may hold an account or an address. */
const messages: Readonly<Record<UpstreamCode, string>> = {
  provider_error: 'The model provider failed.',
  provider_overloaded: 'The model provider is overloaded.',
  provider_timeout: 'The model provider did not answer in time.',
  context_length_exceeded: 'The request does not fit into the context of the model.',
  content_refused: 'The model provider refused this content.',
  invalid_request: 'The model provider refused the request as invalid.',
  request_too_large: 'The model provider refused the request as too large.',
};

const upstreamError = (code: UpstreamCode, reason: string, begun = true): UpstreamError =>
  new UpstreamError(code, messages[code], { cause: new Error(reason), begun });

/** A filter left nothing of an answer that was counted. */
export const contentRefused = (usage: Usage): UpstreamError =>
  new UpstreamError('content_refused', messages.content_refused, { usage });

/** The cause has our own words only. */
export const malformed = (what: string): UpstreamError => upstreamError('provider_error', what);

/** What came of a whole answer is charged, estimated by its bytes (contract L.4). */
export const tooLarge = (bytes: number): UpstreamError =>
  new UpstreamError('provider_error', messages.provider_error, {
    cause: new Error('sent more than an answer may hold'),
    usage: { ...noTokens, output_tokens: estimateTokensOf(bytes), isPartial: true, isGuessed: true },
  });

export interface ErrorBody {
  readonly type: string;
  readonly message: string;
  readonly code: string;
  /** The place in the request. */
  readonly param: string;
  /** Some servers send the status only in the body. */
  readonly status: number | undefined;
}

const noBody: ErrorBody = { type: '', message: '', code: '', param: '', status: undefined };

export const errorBodyOf = (text: string): ErrorBody => {
  try {
    return errorOf(JSON.parse(text));
  } catch {
    return noBody;
  }
};

/** Some servers write the member into each chunk, with nothing in it. */
export const isFailure = (error: unknown): boolean =>
  Boolean(error) && !(typeof error === 'object' && Object.keys(error as object).length === 0);

/** `{error: {type, message, code}}`, `{error: "…"}`, an unwrapped error, or `detail`. */
export const errorOf = (value: unknown): ErrorBody => {
  const inner = fieldOf(value, 'error');
  const error = typeof inner === 'object' && inner !== null ? inner : value;
  const said = typeof inner === 'string' ? inner : (fieldOf(error, 'message') ?? detailOf(fieldOf(error, 'detail')));
  const code = fieldOf(error, 'code');
  return {
    type: textOf(fieldOf(error, 'type')),
    message: textOf(said),
    code: textOf(code),
    param: textOf(fieldOf(error, 'param')),
    status: typeof code === 'number' ? code : undefined,
  };
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const mostFaults = 3;

/** A text, or the faults of a body, each with its place. */
const detailOf = (detail: unknown): string => {
  if (!Array.isArray(detail)) return textOf(detail);
  const faults = detail.slice(0, mostFaults).map(faultOf);
  return faults.filter((fault) => fault !== '').join('; ');
};

const faultOf = (fault: unknown): string => {
  const [loc, message] = [fieldOf(fault, 'loc'), textOf(fieldOf(fault, 'msg'))];
  const steps = Array.isArray(loc) ? loc.filter((step) => typeof step === 'string' || typeof step === 'number') : [];
  const place = (steps[0] === 'body' ? steps.slice(1) : steps).join('.');
  return place === '' || message === '' ? message : `${place}: ${message}`;
};

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Removes the key and the upstream's address. */
export type Hide = (text: string) => string;

/** Longest message of an upstream that a client is shown. */
const maxShown = 400;

interface Telling {
  readonly hide: Hide;
  readonly tellsPlaces: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

export const statusError = (status: number, text: string, telling: Telling): UpstreamError => {
  const { hide, tellsPlaces, retryAfterSeconds } = telling;
  const body = errorBodyOf(text);
  const said = hide(body.message).slice(0, maxShown);
  const code = codeOfStatus(status, body);
  const cause = new Error(reasonOfError(`answered ${status}`, body));
  const options = { cause, length: text.length, retryAfterSeconds, status, begun: false };
  if (said === '' || !isForClient(code, status)) return new UpstreamError(code, messages[code], options);
  const told = tellsPlaces ? toldRefusal(text, hide) : undefined;
  return new UpstreamError(code, said, { ...options, told });
};

/** Whether the upstream's message concerns only the request. */
const isForClient = (code: UpstreamCode, status: number): boolean =>
  code !== 'provider_error' && (status === 400 || status === 413 || status === 422);

const codeOfStatus = (status: number, body: ErrorBody): UpstreamCode => {
  if (status === 429 || status === 529) return isOfAccount(body) ? 'provider_error' : 'provider_overloaded';
  if (status === 413) return 'request_too_large';
  if (status === 408 || status === 504) return 'provider_timeout';
  if (status === 400 || status === 422) return codeOfRefusal(body);
  if (status === 403 && isContentRefusal(body)) return 'content_refused';
  return 'provider_error';
};

const codeOfRefusal = (body: ErrorBody): UpstreamCode => {
  if (isOfAccount(body)) return 'provider_error';
  if (isContentRefusal(body)) return 'content_refused';
  return isTooLong(body) ? 'context_length_exceeded' : 'invalid_request';
};

/** Whether it concerns the operator's account. */
const isOfAccount = ({ code, type, message }: ErrorBody): boolean =>
  code === 'insufficient_quota' ||
  type === 'insufficient_quota' ||
  /credit balance|billing|spend(?:ing)? limit/i.test(message);

const isTooLong = ({ code, message }: ErrorBody): boolean =>
  code === 'context_length_exceeded' ||
  /prompt is too long|context (?:window|length|limit|size)|maximum (?:context|model length)|too many (?:input |prompt )?tokens/i.test(
    message,
  );

const isContentRefusal = ({ code, message }: ErrorBody): boolean =>
  code === 'content_filter' ||
  code === 'content_policy_violation' ||
  /content (?:filter|moderation|management polic)|blocked by .{0,40}(?:filter|polic|safety)|flagged (?:by|as|for)/i.test(
    message,
  );

export const eventError = (body: ErrorBody): UpstreamError => {
  const code = codeOfEvent(body);
  const cause = new Error(reasonOfError('sent an error', body));
  const begun = code !== 'provider_overloaded';
  return new UpstreamError(code, messages[code], { cause, length: body.message.length, begun });
};

/** The error of a failed response, if a client must not see it (contract L.4): of the operator's account, or an overload before any output. */
export const untoldFailure = (response: unknown, isBegun: boolean): UpstreamError | null => {
  const body = errorOf(response);
  const error = eventError(body);
  return isOfAccount(body) || (!isBegun && error.code === 'provider_overloaded') ? error : null;
};

const overloadCodes: readonly string[] = ['rate_limit_exceeded', 'server_is_overloaded'];

const codeOfEvent = (body: ErrorBody): UpstreamCode => {
  if (overloadCodes.includes(body.code)) return isOfAccount(body) ? 'provider_error' : 'provider_overloaded';
  switch (body.type) {
    case 'overloaded_error':
    case 'rate_limit_error':
    case 'rate_limit_exceeded':
      return 'provider_overloaded';
    case 'timeout_error':
      return 'provider_timeout';
    case 'request_too_large':
      return 'request_too_large';
    case 'invalid_request_error':
      return codeOfRefusal(body);
    default:
      return body.status === undefined ? 'provider_error' : codeOfStatus(body.status, body);
  }
};

/** Whole seconds, 1 to 30 (contract E.2). */
export const retryAfterSeconds = (header: string | undefined, wall: Millis): number | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  // Date.parse alone would take "-3" for a year.
  const until = /^[A-Z][a-z]{2}, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  const wait = /^\d{1,9}$/.test(text) ? Number(text) : (until - wall) / 1000;
  return Number.isFinite(wait) ? Math.min(30, Math.max(1, Math.ceil(wait))) : undefined;
};

const codeOf = (error: unknown): unknown =>
  fieldOf(error, 'code') ?? fieldOf((fieldOf(error, 'errors') as readonly unknown[] | undefined)?.[0], 'code');

const connectionCodes = new Set<unknown>([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT'],
  ...(['closed', 'connect_timeout'] satisfies HttpFault['code'][]),
]);

/** Connection failed or broken: retryable if nothing was received. */
export const isConnectionFailure = (error: unknown): boolean => connectionCodes.has(codeOf(error));

const timeoutCodes = new Set<unknown>(['ETIMEDOUT', 'connect_timeout' satisfies HttpFault['code']]);

export const isTimeout = (error: unknown): boolean => timeoutCodes.has(codeOf(error));

/** Has the reason as its cause. @param begun whether the upstream may have worked for the answer */
export const transportError = (error: unknown, begun = true): UpstreamError => {
  if (error instanceof UpstreamError) return error;
  if (error instanceof SseError) return malformed(error.message);
  return upstreamError(isTimeout(error) ? 'provider_timeout' : 'provider_error', reasonOfFault(error), begun);
};
