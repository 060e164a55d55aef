import { type Code, catalogue, type Detail, type Refusal } from '../errors.ts';
import type { Family, Headers } from './route.ts';

export interface Failure {
  readonly status: number;
  readonly headers: Headers;
  readonly body: object;
}

type Vocabulary = (status: number, refused: Refusal) => string;

/** ADMIN types decided by the code (contract E.1). */
const adminByCode: Readonly<Record<string, string>> = {
  content_refused: 'moderation_error',
  policy_violation: 'policy_error',
  policy_evaluation_failed: 'policy_error',
  invalid_media: 'media_error',
};

const adminByStatus: Readonly<Record<number, string>> = {
  401: 'auth_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
};

const adminType: Vocabulary = (status, { code }) =>
  adminByCode[code] ??
  catalogue[code].kind ??
  adminByStatus[status] ??
  (status >= 500 ? (status === 504 ? 'provider_error' : 'internal_error') : 'validation_error');

const messagesByStatus: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const messagesType: Vocabulary = (status) =>
  messagesByStatus[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');

const chatByStatus: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
};

const chatType: Vocabulary = (status) =>
  chatByStatus[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');

/** They always have a Retry-After (contract E.2); the refusal's own wins. */
const comeBackSoon: ReadonlySet<Code> = new Set<Code>([
  'idempotency_in_progress',
  'server_busy',
  'server_shutting_down',
  'model_not_ready',
  'dependency_unavailable',
  'credit_balance_unavailable',
]);

/** Above it SDKs are told not to retry. */
const longestOwnWaitSeconds = 60;

/** CHAT and OAUTH have no 422; 529 is for messages (contract E.1). */
export const statusOf = (code: Code, family: Family, status: number = catalogue[code].status): number => {
  if ((family === 'chat' || family === 'oauth') && status === 422) return 400;
  if (family === 'messages' && code === 'provider_overloaded') return 529;
  return status;
};

const noHints: Headers = Object.freeze({});
const tryAgain: Headers = Object.freeze({ 'x-should-retry': 'true' });
const giveUp: Headers = Object.freeze({ 'x-should-retry': 'false' });
const soon: Headers = Object.freeze({ 'Retry-After': '1' });
const tryAgainSoon: Headers = Object.freeze({ ...soon, ...tryAgain });

/** Beyond those of the refusal. */
const hintsOf = (refused: Refusal, status: number): Headers => {
  const wait = refused.headers['Retry-After'];
  const isSoon = wait === undefined && comeBackSoon.has(refused.code);
  const isDecided = refused.headers['x-should-retry'] !== undefined;
  if (status >= 500 || isDecided) return isSoon ? soon : noHints;
  if (catalogue[refused.code].retry) return isSoon ? tryAgainSoon : tryAgain;
  const isShortWait = status === 429 && wait !== undefined && Number(wait) <= longestOwnWaitSeconds;
  return isShortWait ? noHints : giveUp;
};

/** For validation bodies that were not made from a schema's issues. */
const locate = (param: string | null): string[] => {
  if (param === null) return ['body'];
  const parts = param.split('.');
  return parts[0] === 'query' || parts[0] === 'header' ? parts : ['body', ...parts];
};

const detailOf = (refused: Refusal): readonly Detail[] =>
  refused.details.length > 0
    ? refused.details
    : [{ loc: locate(refused.param), msg: refused.message, type: 'value_error', input: null, ctx: {} }];

/** Caches quoted messages, which are mostly constants. */
const quotes = new Map<string, string>();
const mostQuotes = 1_000;

const quoted = (text: string | null): string => {
  if (text === null) return 'null';
  let quote = quotes.get(text);
  if (quote === undefined) {
    const whole = JSON.stringify(text);
    quote = withoutKeys(whole);
    if (quote !== whole) return quote;
    if (quotes.size >= mostQuotes) quotes.clear();
    quotes.set(text, quote);
  }
  return quote;
};
const detailText = (refused: Refusal): string => `"detail":${withoutKeys(JSON.stringify(detailOf(refused)))},`;

/** Keys of Weir and of the provider APIs. */
const keyLike = /(gw[pats]_|sk-)[\w-]{16,}/g;

/** Errors repeat names and values that clients may log, so keys are cut out (contract E.1). The result stays JSON. */
export const withoutKeys = (json: string): string => json.replace(keyLike, '$1…');

// Text, because refusals must cost less than answers: 0.3 µs, 1.2 by JSON.stringify. Needs no escapes.
const adminText = (refused: Refusal, status: number, requestId: string): string =>
  `"error":{"code":"${refused.code}","message":${quoted(refused.message)},"type":"${adminType(status, refused)}",` +
  `"param":${quoted(refused.param)},"request_id":"${requestId}","doc_url":null}`;

const messagesText = (refused: Refusal, status: number, requestId: string): string => {
  const start = `"type":"error","error":{"type":"${messagesType(status, refused)}","message":${quoted(refused.message)}`;
  if (status === 429) return `{${start}},"request_id":"${requestId}"}`;
  const { code, param, about } = refused;
  const more = about === undefined ? '' : `,${JSON.stringify(about).slice(1, -1)}`;
  const error = `${start},"code":"${code}","param":${quoted(param)},"details":{"error_code":"${code}"${more}}}`;
  return `{${status === 422 ? detailText(refused) : ''}${error},"request_id":"${requestId}"}`;
};

const chatText = (refused: Refusal, status: number): string => {
  const isLimit = status === 429;
  const code = isLimit ? 'rate_limit_exceeded' : refused.code;
  return (
    `{"error":{"message":${quoted(refused.message)},"type":"${chatType(status, refused)}",` +
    `"param":${isLimit ? 'null' : quoted(refused.param)},"code":"${code}"}}`
  );
};

/** RFC 6749, 5.2. */
const oauthCodes: ReadonlySet<Code> = new Set<Code>(['invalid_client', 'unsupported_grant_type', 'invalid_scope']);

/** Unspecified: codes without a word in RFC 6749, 5.2. Server errors use those of its 4.1.2.1. */
const oauthError = ({ code }: Refusal, status: number): string => {
  if (oauthCodes.has(code)) return code;
  if (status === 429 || status === 503) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
};

/** RFC 6749, 5.2 allows ASCII without double quote and backslash. */
const oauthText = (refused: Refusal, status: number): string => {
  const description = withoutKeys(refused.message)
    .replaceAll('"', "'")
    .replace(/[^\x20-\x7e]|\\/g, '?');
  return `{"error":"${oauthError(refused, status)}","error_description":"${description}"}`;
};

const textOf = (refused: Refusal, family: Family, status: number, requestId: string): string => {
  switch (family) {
    case 'messages':
      return messagesText(refused, status, requestId);
    case 'chat':
      return chatText(refused, status);
    case 'oauth':
      return oauthText(refused, status);
    case 'models':
      return `{${status === 422 ? detailText(refused) : ''}${adminText(refused, status, requestId)}}`;
    case 'admin':
      return `{${adminText(refused, status, requestId)}}`;
  }
};

/** Ready to send; the refusal's own headers go out beside the hints. */
export interface FailureText {
  readonly status: number;
  readonly hints: Headers;
  readonly body: string;
}

/** ADMIN, MSG, MSG-429, CHAT, OAUTH and DETAIL of contract E.1, with the retry hints of E.2. */
export const failureText = (refused: Refusal, family: Family, requestId: string): FailureText => {
  const status = statusOf(refused.code, family, refused.status);
  return { status, hints: hintsOf(refused, status), body: textOf(refused, family, status, requestId) };
};

/** As a handler's reply, or an error event of a stream. */
export const failure = (refused: Refusal, family: Family, requestId: string): Failure => {
  const { status, hints, body } = failureText(refused, family, requestId);
  return { status, headers: { ...refused.headers, ...hints }, body: JSON.parse(body) as object };
};

/** Unrouted paths of chat clients. */
const chatPaths: ReadonlySet<string> = new Set([
  ...['chat', 'responses', 'completions', 'conversations', 'embeddings', 'moderations', 'rerank'],
  ...['audio', 'images', 'videos', 'realtime'],
  ...['assistants', 'threads', 'vector_stores', 'containers', 'files', 'uploads', 'batches', 'fine_tuning', 'evals'],
]);

/** For unrouted paths (contract E.1). */
export const familyOf = (path: string): Family => {
  const [, version, first = ''] = path.split('/', 3);
  if (version !== 'v1') return 'admin';
  if (first === 'messages') return 'messages';
  return chatPaths.has(first) ? 'chat' : 'admin';
};
