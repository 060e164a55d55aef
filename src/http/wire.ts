import { type Code, catalogue, type Detail, type Refusal } from '../errors.ts';
import type { Family, Headers } from './route.ts';

/** An error as it goes over the wire. */
export interface Failure {
  readonly status: number;
  readonly headers: Headers;
  readonly body: object;
}

type Vocabulary = (status: number, refused: Refusal) => string;

/** ADMIN types that the code decides and not its status alone (decisions E.1). Keys are codes, also of later stages. */
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

/** Codes that always say when to come back (decisions E.2); a refusal's own header wins. */
const comeBackSoon: ReadonlySet<Code> = new Set<Code>([
  'idempotency_in_progress',
  'server_busy',
  'server_shutting_down',
  'model_not_ready',
  'dependency_unavailable',
]);

/** Longest wait that the SDKs are left to sit out by themselves (decisions F5, F6). */
const longestOwnWaitSeconds = 60;

/** The status of a code as the callers of a family get it: CHAT has no 422, and 529 is for messages (decisions E.1). */
export const statusOf = (code: Code, family: Family): number => {
  const { status } = catalogue[code];
  if (family === 'chat' && status === 422) return 400;
  if (family === 'messages' && code === 'provider_overloaded') return 529;
  return status;
};

const headersOf = (refused: Refusal, status: number): Headers => {
  const headers: Record<string, string> = { ...refused.headers };
  if (comeBackSoon.has(refused.code)) headers['Retry-After'] ??= '1';
  if (status < 500) {
    const isShortWait = status === 429 && Number(headers['Retry-After'] ?? Number.NaN) <= longestOwnWaitSeconds;
    if (catalogue[refused.code].retry) headers['x-should-retry'] = 'true';
    else if (!isShortWait) headers['x-should-retry'] = 'false';
  }
  return headers;
};

/** Where a `param` points, for a validation body that was not made from a schema's issues. */
const locate = (param: string | null): string[] => {
  if (param === null) return ['body'];
  const parts = param.split('.');
  return parts[0] === 'query' || parts[0] === 'header' ? parts : ['body', ...parts];
};

const detailOf = (refused: Refusal): readonly Detail[] =>
  refused.details.length > 0
    ? refused.details
    : [{ loc: locate(refused.param), msg: refused.message, type: 'value_error', input: null, ctx: {} }];

const adminError = (refused: Refusal, status: number, requestId: string): object => ({
  code: refused.code,
  message: refused.message,
  type: adminType(status, refused),
  param: refused.param,
  request_id: requestId,
  doc_url: null,
});

const messagesBody = (refused: Refusal, status: number, requestId: string): object => {
  const type = messagesType(status, refused);
  if (status === 429) return { type: 'error', error: { type, message: refused.message }, request_id: requestId };
  const error = {
    type,
    message: refused.message,
    code: refused.code,
    param: refused.param,
    details: { error_code: refused.code },
  };
  const body = { type: 'error', error, request_id: requestId };
  return status === 422 ? { detail: detailOf(refused), ...body } : body;
};

const chatBody = (refused: Refusal, status: number): object => ({
  error: {
    message: refused.message,
    type: chatType(status, refused),
    param: status === 429 ? null : refused.param,
    code: status === 429 ? 'rate_limit_exceeded' : refused.code,
  },
});

const bodyOf = (refused: Refusal, family: Family, status: number, requestId: string): object => {
  switch (family) {
    case 'messages':
      return messagesBody(refused, status, requestId);
    case 'chat':
      return chatBody(refused, status);
    case 'models': {
      const error = adminError(refused, status, requestId);
      return status === 422 ? { detail: detailOf(refused), error } : { error };
    }
    case 'admin':
      return { error: adminError(refused, status, requestId) };
  }
};

/**
 * Turns a refusal into the status, headers and body that callers of a family read: ADMIN, MSG, MSG-429, CHAT and DETAIL
 * of decisions E.1, the retry hints of E.2.
 */
export const failure = (refused: Refusal, family: Family, requestId: string): Failure => {
  const status = statusOf(refused.code, family);
  return { status, headers: headersOf(refused, status), body: bodyOf(refused, family, status, requestId) };
};

const isUnder = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/');

/** The family of a path that no route has (decisions E.1). */
export const familyOf = (path: string): Family => {
  if (isUnder(path, '/v1/messages')) return 'messages';
  if (isUnder(path, '/v1/chat') || isUnder(path, '/v1/responses')) return 'chat';
  return 'admin';
};
