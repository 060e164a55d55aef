import { HttpFault } from '../http1/fault.ts';

/** Upstreams may quote prompts and keys, so only types and codes of this list are logged. */
const known: ReadonlySet<string> = new Set([
  ...['invalid_request_error', 'authentication_error', 'billing_error', 'permission_error', 'not_found_error'],
  ...['request_too_large', 'rate_limit_error', 'timeout_error', 'api_error', 'overloaded_error'],
  ...['server_error', 'internal_error', 'internal_server_error', 'service_unavailable', 'unavailable_error'],
  ...['rate_limit_exceeded', 'requests', 'tokens', 'insufficient_quota', 'billing_hard_limit_reached'],
  ...['billing_not_active', 'account_deactivated', 'invalid_api_key', 'incorrect_api_key', 'invalid_organization'],
  ...['model_not_found', 'unsupported_model', 'context_length_exceeded', 'exceed_context_size_error'],
  ...['content_filter', 'content_policy_violation', 'invalid_value', 'invalid_type', 'missing_required_parameter'],
  ...['unknown_parameter', 'unsupported_parameter', 'unsupported_value', 'invalid_prompt', 'not_supported_error'],
  ...['BadRequestError', 'NotFoundError', 'InternalServerError', 'ServiceUnavailableError', 'TooManyRequests'],
  ...['provider_error', 'provider_overloaded', 'provider_timeout', 'model_not_ready', 'dependency_unavailable'],
  ...['insufficient_credits', 'server_busy', 'server_shutting_down', 'missing_credentials'],
]);

const worded = (said: string): string => (said === '' ? 'none' : known.has(said) ? said : 'other');

/** @param how our own words */
export const reasonOfError = (how: string, { type, code }: { readonly type: string; readonly code: string }): string =>
  `the upstream ${how} (type ${worded(type)}, code ${worded(code)})`;

/** A connection error: Weir's words, a system error, or else a bare name. */
export const reasonOfFault = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOfFault(error.errors[0]);
  if (error instanceof HttpFault) return error.message;
  if (!(error instanceof Error)) return 'no error';
  const { syscall, code, message, name } = error as NodeJS.ErrnoException;
  return syscall === undefined ? (code ?? name) : message;
};
