import { describe, expect, test } from 'vitest';
import { type Code, catalogue, refusal } from '../../src/errors.ts';
import { failure, failureText, familyOf } from '../../src/http/error-envelopes.ts';
import type { Family } from '../../src/http/route.ts';

const families: readonly Family[] = ['admin', 'models', 'messages', 'chat'];
const codes = Object.keys(catalogue) as Code[];
const id = 'req_0';

/** contract E.1, by status: the types in the ADMIN, MSG and CHAT vocabularies. */
const vocabulary: Readonly<Record<number, readonly [string, string, string]>> = {
  400: ['validation_error', 'invalid_request_error', 'invalid_request_error'],
  401: ['auth_error', 'authentication_error', 'authentication_error'],
  402: ['billing_error', 'billing_error', 'insufficient_quota'],
  403: ['permission_error', 'permission_error', 'permission_error'],
  404: ['not_found_error', 'not_found_error', 'not_found_error'],
  405: ['validation_error', 'invalid_request_error', 'invalid_request_error'],
  408: ['validation_error', 'invalid_request_error', 'invalid_request_error'],
  409: ['conflict_error', 'conflict_error', 'conflict_error'],
  411: ['validation_error', 'invalid_request_error', 'invalid_request_error'],
  413: ['validation_error', 'request_too_large', 'invalid_request_error'],
  415: ['validation_error', 'invalid_request_error', 'invalid_request_error'],
  422: ['validation_error', 'invalid_request_error', 'invalid_request_error'],
  426: ['validation_error', 'invalid_request_error', 'invalid_request_error'],
  429: ['rate_limit_error', 'rate_limit_error', 'rate_limit_error'],
  500: ['internal_error', 'api_error', 'server_error'],
  502: ['provider_error', 'api_error', 'server_error'],
  503: ['internal_error', 'api_error', 'server_error'],
  504: ['provider_error', 'timeout_error', 'server_error'],
};
const adminSpecial: Readonly<Record<string, string>> = {
  content_refused: 'moderation_error',
  policy_violation: 'policy_error',
  policy_evaluation_failed: 'policy_error',
  invalid_media: 'media_error',
  provider_overloaded: 'provider_error',
  model_not_ready: 'provider_error',
};

const expected = (code: Code, family: Family) => {
  const { status } = catalogue[code];
  const [adminType, messagesType, chatType] = vocabulary[status]!;
  const message = catalogue[code].message;
  const admin = { code, message, type: adminSpecial[code] ?? adminType, param: 'a.b', request_id: id, doc_url: null };
  const detail = [{ loc: ['body', 'a', 'b'], msg: message, type: 'value_error', input: null, ctx: {} }];
  if (family === 'admin') return { status, body: { error: admin } };
  if (family === 'models') return { status, body: status === 422 ? { detail, error: admin } : { error: admin } };
  if (family === 'chat') {
    const isLimit = status === 429;
    const error = {
      message,
      type: chatType,
      param: isLimit ? null : 'a.b',
      code: isLimit ? 'rate_limit_exceeded' : code,
    };
    return { status: status === 422 ? 400 : status, body: { error } };
  }
  if (status === 429)
    return { status, body: { type: 'error', error: { type: 'rate_limit_error', message }, request_id: id } };
  const overloaded = code === 'provider_overloaded';
  const type = overloaded ? 'overloaded_error' : messagesType;
  const error = { type, message, code, param: 'a.b', details: { error_code: code } };
  const body = { type: 'error', error, request_id: id };
  return { status: overloaded ? 529 : status, body: status === 422 ? { detail, ...body } : body };
};

describe('failure', () => {
  test.each(codes.flatMap((code) => families.map((family) => [code, family] as const)))(
    '%s in the %s envelope',
    (code, family) => {
      const { status, body } = failure(refusal(code, { param: 'a.b' }), family, id);
      expect({ status, body }).toEqual(expected(code, family));
    },
  );

  test('the text is the reply, byte for byte, whatever the message holds', () => {
    const odd = refusal('invalid_request', { message: 'a "quoted" \\ \u2028 \u0000 😀', param: 'a"b' });
    for (const family of families) {
      expect(failureText(odd, family, id).body).toBe(JSON.stringify(failure(odd, family, id).body));
    }
  });

  test.each(codes)('%s in the OAUTH envelope', (code) => {
    const { status, body } = failure(refusal(code), 'oauth', id);
    const own = ['invalid_client', 'unsupported_grant_type', 'invalid_scope'].includes(code);
    const busy = status === 429 || status === 503;
    const word = busy ? 'temporarily_unavailable' : status >= 500 ? 'server_error' : 'invalid_request';
    expect(body).toEqual({ error: own ? code : word, error_description: expect.any(String) });
    expect(status).toBe(catalogue[code].status === 422 ? 400 : catalogue[code].status);
  });

  test('an OAuth description holds nothing but what RFC 6749 lets it', () => {
    const { body } = failure(refusal('invalid_scope', { message: 'a "b" \\ \u00e9 \n c' }), 'oauth', id);
    expect(body).toEqual({ error: 'invalid_scope', error_description: "a 'b' ? ? ? c" });
  });

  test('all six fields of an ErrorDetail are there, null where there is nothing', () => {
    const { body } = failure(refusal('route_not_found'), 'admin', id);
    expect(Object.keys((body as { error: object }).error)).toEqual([
      'code',
      'message',
      'type',
      'param',
      'request_id',
      'doc_url',
    ]);
  });

  test.each(codes)('%s: the retry hint follows the catalogue and is never on 5xx', (code) => {
    for (const family of families) {
      const { status, headers } = failure(refusal(code), family, id);
      const hint = headers['x-should-retry'];
      if (status >= 500) expect(hint).toBeUndefined();
      else if (status !== 429) expect(hint).toBe(catalogue[code].retry ? 'true' : 'false');
    }
  });

  test('a 429 of more than a minute tells the SDKs not to wait', () => {
    const limited = codes.find((code) => catalogue[code].status === 429);
    if (!limited) return;
    const hint = (wait: string | undefined) =>
      failure(refusal(limited, { headers: wait === undefined ? {} : { 'Retry-After': wait } }), 'messages', id).headers[
        'x-should-retry'
      ];
    expect(hint('60')).toBeUndefined();
    expect(hint('61')).toBe('false');
    expect(hint(undefined)).toBe('false');
  });

  test.each([
    'idempotency_in_progress',
    'server_busy',
    'server_shutting_down',
    'dependency_unavailable',
    'credit_balance_unavailable',
    'model_not_ready',
  ] as const)('%s says when to come back', (code) => {
    expect(failure(refusal(code), 'admin', id).headers['Retry-After']).toBe('1');
    expect(failure(refusal(code, { headers: { 'Retry-After': '7' } }), 'admin', id).headers['Retry-After']).toBe('7');
  });

  test("a refusal's own hint stands, and is sent once", () => {
    const own = refusal('idempotency_key_reused', { headers: { 'x-should-retry': 'true' } });
    expect(failure(own, 'admin', id).headers).toEqual({ 'x-should-retry': 'true' });
    expect(failureText(own, 'admin', id).hints).toEqual({});
  });

  test("a refusal's own headers go through", () => {
    const headers = { 'WWW-Authenticate': 'Bearer realm="api"', 'x-ratelimit-limit-requests': '60' };
    expect(failure(refusal('invalid_api_key', { headers }), 'chat', id).headers).toMatchObject(headers);
  });

  test('what has the form of a key ends after its first letters, wherever an error repeats it', () => {
    const key = `gwp_${'a'.repeat(49)}`;
    const reason = refusal('validation_failed', {
      message: `${key}: not "a" field, sk-ant-${'b'.repeat(40)} neither`,
      param: `x.${key}`,
      details: [{ loc: ['body', key], msg: key, type: 'missing', input: { [key]: [key] }, ctx: {} }],
    });
    for (const family of ['admin', 'messages', 'models', 'chat', 'oauth'] as const) {
      const text = JSON.stringify(failure(reason, family, id).body);
      expect([family, text]).not.toEqual([family, expect.stringMatching(/aaaa|bbbb/)]);
      expect([family, text]).toEqual([family, expect.stringMatching(/gwp_(…|\?)/)]);
    }
    // A name that is like one, and ids, are no keys.
    const named = failure(
      refusal('validation_failed', { param: 'gwp_short', message: `key_${'a'.repeat(26)}` }),
      'admin',
      id,
    );
    expect(JSON.stringify(named.body)).toMatch(/gwp_short.*|key_a{26}/);
  });

  test('details of a schema go through, and a query or header parameter is located', () => {
    const details = [{ loc: ['body', 'x'], msg: 'm', type: 'missing', input: null, ctx: {} }];
    expect(
      (failure(refusal('validation_failed', { details }), 'messages', id).body as { detail: unknown }).detail,
    ).toEqual(details);
    const located = failure(refusal('validation_failed', { param: 'query.limit' }), 'models', id).body as {
      detail: [{ loc: string[] }];
    };
    expect(located.detail[0].loc).toEqual(['query', 'limit']);
  });
});

test('a refusal can stand for another status than its code’s own', () => {
  const wire = failure(refusal('api_key_revoked', { status: 409 }), 'admin', 'req_1');
  expect(wire).toMatchObject({ status: 409, body: { error: { type: 'conflict_error', code: 'api_key_revoked' } } });
  expect(wire.headers['x-should-retry']).toBe('false');
});

describe('familyOf', () => {
  test.each([
    ['/v1/messages', 'messages'],
    ['/v1/messages/count_tokens', 'messages'],
    ['/v1/messagesx', 'admin'],
    ['/v1/chat/completions', 'chat'],
    ['/v1/chat', 'chat'],
    ['/v1/responses/x', 'chat'],
    ['/v1/embeddings', 'chat'],
    ['/v1/images/generations', 'chat'],
    ['/v1/audio/speech', 'chat'],
    ['/v1/filesx', 'admin'],
    ['/v2/files', 'admin'],
    ['/v1/models', 'admin'],
    ['/v1/organization', 'admin'],
    ['/', 'admin'],
    ['', 'admin'],
  ])('%s is %s', (path, family) => {
    expect(familyOf(path)).toBe(family);
  });
});
