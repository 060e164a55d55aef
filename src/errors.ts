/** All errors that clients can get (contract E.2). A code never changes. */

interface Entry {
  readonly status: number;
  readonly message: string;
  /** The type in the admin envelope, if the status alone does not decide it. */
  readonly kind?: 'provider_error';
  /** Clients should retry although the status is a 4xx (contract E.2, retry hint). */
  readonly retry?: true;
}

const entries = {
  invalid_json: { status: 400, message: 'The request body is not a JSON object.' },
  request_too_complex: { status: 400, message: 'The request body has too many values or levels.' },
  invalid_cursor: { status: 400, message: 'The cursor is not the id of an object in this list.' },
  invalid_request: { status: 400, message: 'The request is malformed.' },
  thread_unsupported_request: {
    status: 400,
    message: 'Threads are not kept here. Send the whole conversation in "messages".',
  },
  unsupported_model: { status: 400, message: 'The model does not answer this API.' },
  unsupported_grant_type: { status: 400, message: 'The grant type must be client_credentials.' },
  invalid_scope: { status: 400, message: 'The scope is not one that the client may have.' },
  invalid_client: { status: 401, message: 'The client is not known, or its secret is not right.' },
  missing_credentials: { status: 401, message: 'No API key was sent. Send it as "Authorization: Bearer <key>".' },
  invalid_api_key: { status: 401, message: 'The API key is not valid.' },
  api_key_revoked: { status: 401, message: 'The API key has been revoked.' },
  api_key_suspended: { status: 401, message: 'The API key is suspended.' },
  api_key_expired: { status: 401, message: 'The API key has expired.' },
  access_token_expired: { status: 401, message: 'The access token has expired.' },
  invalid_access_token: { status: 401, message: 'The access token is not valid.' },
  insufficient_credits: {
    status: 402,
    message: 'The organization has not enough credit for this request and those that are in flight.',
  },
  api_key_spend_limit_exceeded: {
    status: 402,
    message: 'The spend limit of the API key has not enough left for this request and those that are in flight.',
  },
  project_spend_limit_exceeded: {
    status: 402,
    message: 'The spend limit of the project has not enough left for this request and those that are in flight.',
  },
  organization_spend_limit_exceeded: {
    status: 402,
    message: 'The spend limit of the organization has not enough left for this request and those that are in flight.',
  },
  insufficient_permissions: { status: 403, message: 'The credential lacks the permission that this request needs.' },
  credential_type_not_allowed: { status: 403, message: 'This kind of credential is not accepted here.' },
  browser_not_allowed: { status: 403, message: 'Policies are managed from servers, never from browser code.' },
  permission_escalation: { status: 403, message: 'A key cannot be given a permission that its creator lacks.' },
  organization_suspended: { status: 403, message: 'The organization is suspended.' },
  model_locked: { status: 403, message: 'The model is locked for this organization.' },
  policy_violation: { status: 403, message: 'A policy of the organization forbids this.' },
  policy_evaluation_failed: { status: 403, message: 'A policy of the organization could not be evaluated.' },
  content_refused: { status: 403, message: 'The provider refused this content.' },
  project_not_found: { status: 404, message: 'No such project in this organization.' },
  api_key_not_found: { status: 404, message: 'No such API key in this project.' },
  admin_api_key_not_found: { status: 404, message: 'No such Admin API key in this organization.' },
  model_not_found: {
    status: 404,
    message: 'No such model for this project. GET /v1/models lists those that there are.',
  },
  audit_log_not_found: { status: 404, message: 'No such audit log entry in this organization.' },
  rate_limit_not_found: { status: 404, message: 'No such rate limit in this project: it may call no such model.' },
  spend_limit_not_found: { status: 404, message: 'No spend limit is set here.' },
  policy_not_found: { status: 404, message: 'No such policy in this organization.' },
  response_not_stored: { status: 404, message: 'No response is stored here: send the whole conversation in input.' },
  route_not_found: { status: 404, message: 'No such route.' },
  method_not_allowed: { status: 405, message: 'The method is not allowed on this route.' },
  request_timeout: { status: 408, message: 'The request body did not arrive in time.', retry: true },
  project_archived: { status: 409, message: 'The project is archived.' },
  model_alias_taken: { status: 409, message: 'There is a model with that id, which goes before an alias.' },
  last_admin_key: { status: 409, message: 'The last key that can write Admin API keys cannot be removed.' },
  api_key_rotated: { status: 409, message: 'The API key has a successor.' },
  api_key_limit_reached: { status: 409, message: 'The project has as many live API keys as it may.' },
  admin_key_limit_reached: { status: 409, message: 'The organization has as many Admin API keys as it may.' },
  policy_revision_conflict: { status: 409, message: 'The policy has been changed since that revision.' },
  policy_not_pausable: { status: 409, message: 'The policy has never been published, so there is nothing to pause.' },
  policy_not_paused: { status: 409, message: 'The policy is not paused.' },
  policy_no_unpublished_changes: { status: 409, message: 'The draft says what the current version says.' },
  policy_not_published: { status: 409, message: 'The policy has never been published.' },
  policy_is_live: { status: 409, message: 'The policy is in force. Pause it before you delete it.' },
  policy_limit_reached: { status: 409, message: 'The organization has as many policies as it may.' },
  idempotency_key_reused: { status: 409, message: 'The Idempotency-Key was used with another request body.' },
  idempotency_result_unavailable: {
    status: 409,
    message: 'The result of this Idempotency-Key is not available any more, or not at this gateway.',
  },
  idempotency_in_progress: { status: 409, message: 'A request with this Idempotency-Key is in progress.', retry: true },
  length_required: { status: 411, message: 'Send a Content-Length; chunked bodies are not accepted here.' },
  request_too_large: { status: 413, message: 'The request body is too large.' },
  unsupported_media_type: {
    status: 415,
    message: 'The request body must be application/json without Content-Encoding.',
  },
  validation_failed: { status: 422, message: 'The request is not valid.' },
  unknown_field: { status: 422, message: 'The request has a field that does not exist.' },
  unknown_permission: { status: 422, message: 'No such permission for this kind of key.' },
  expires_at_not_future: { status: 422, message: 'expires_at must be in the future.' },
  policy_rule_invalid: { status: 422, message: 'The rule is not one that can be evaluated.' },
  unsupported_parameter: { status: 422, message: 'The parameter is not supported.' },
  unsupported_tool: { status: 422, message: 'The tool type is not supported.' },
  unsupported_content_block: { status: 422, message: 'The content block type is not supported.' },
  context_length_exceeded: { status: 422, message: 'The request does not fit into the context of the model.' },
  invalid_media: { status: 422, message: 'The media is not valid.' },
  upgrade_required: { status: 426, message: 'No WebSocket is offered here: send the request by POST.' },
  rate_limit_exceeded: { status: 429, message: 'A rate limit is exceeded.' },
  internal_error: { status: 500, message: 'An unexpected failure. It has been recorded under the request id.' },
  provider_error: { status: 502, message: 'The model provider failed.', kind: 'provider_error' },
  provider_overloaded: { status: 503, message: 'The model provider is overloaded.', kind: 'provider_error' },
  model_not_ready: { status: 503, message: 'The model is not ready.', kind: 'provider_error' },
  dependency_unavailable: { status: 503, message: 'A required dependency is temporarily unavailable.' },
  credentials_stale: {
    status: 503,
    message: 'What is known here of keys is older than the operator allows: the event store cannot be reached.',
  },
  credit_balance_unavailable: { status: 503, message: 'The credit balance cannot be read at the moment.' },
  server_busy: { status: 503, message: 'The server is holding as many request bytes as it may.' },
  server_shutting_down: { status: 503, message: 'The server is shutting down.' },
  provider_timeout: { status: 504, message: 'The model provider did not answer in time.', kind: 'provider_error' },
} as const satisfies Record<string, Entry>;

export type Code = keyof typeof entries;

export const catalogue: Readonly<Record<Code, Entry>> = entries;

/** Entry of the `detail` list of a 422 (contract E.1, DETAIL rules). */
export interface Detail {
  readonly loc: readonly string[];
  readonly msg: string;
  readonly type: string;
  readonly input: unknown;
  readonly ctx: Readonly<Record<string, unknown>>;
}

/** A refusal as a value: the hot path returns it, a `Fault` carries it. */
export interface Refusal {
  readonly code: Code;
  /** Usually that of the code; but `api_key_expired` is 409 when a command targets the key. */
  readonly status: number;
  readonly message: string;
  /** Dotted path of the input (`permissions.0`, `query.limit`, `header.Idempotency-Key`), else null. */
  readonly param: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: readonly Detail[];
  /** Additional fields in the messages API (contract G.8). */
  readonly about?: Readonly<Record<string, string | number | null>>;
}

export type RefusalOptions = Partial<Omit<Refusal, 'code'>>;

const none: Readonly<Record<string, string>> = Object.freeze({});
const noDetails: readonly Detail[] = Object.freeze([]);
/** UTF-16 units on the wire (contract E.1). */
const maxMessage = 500;

export const refusal = (code: Code, options: RefusalOptions = {}): Refusal => ({
  code,
  status: options.status ?? catalogue[code].status,
  message: (options.message ?? catalogue[code].message).slice(0, maxMessage),
  param: options.param ?? null,
  headers: options.headers ?? none,
  details: options.details ?? noDetails,
  ...(options.about && { about: options.about }),
});

export const isRefusal = (value: object): value is Refusal => 'code' in value && 'details' in value;

/** For the administration path, where exceptions are affordable. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly refusal: Refusal;
  constructor(refused: Refusal, cause?: unknown) {
    super(refused.message, { cause });
    this.refusal = refused;
  }
}

export const fault = (code: Code, options: RefusalOptions & { readonly cause?: unknown } = {}): Fault =>
  new Fault(refusal(code, options), options.cause);
