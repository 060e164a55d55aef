import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const json = 'Content-Type: application/json';
const key = 'Idempotency-Key: 12345678';
const codeOf = (body: string): string => JSON.parse(body).error.code;

describe('the form of a body', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  const post = async (lines: readonly string[], body: string, path = '/v1/organization/things') => {
    const bytes = request(
      `POST ${path}`,
      [credential, key, ...lines, `Content-Length: ${Buffer.byteLength(body)}`],
      body,
    );
    const { answers } = await send(service.port, bytes, { answers: 1 });
    return { status: answers[0]?.status, code: answers[0] && JSON.parse(answers[0].body).error?.code };
  };

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON;charset="UTF-8"',
    'application/vnd.weir+json',
    'application/json;  charset=utf-8',
    'application/json\t;\t charset=utf-8 ;',
    'application/json; a="b  c"',
  ])('%j is read', async (type) => {
    expect(await post([`Content-Type: ${type}`], '{"name":"a"}')).toMatchObject({ status: 201 });
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'text/json',
    'application/json; charset=utf-16',
    'json',
    '+json',
    '',
    'application/json  application/json',
    'application/json\u00a0; a=b',
    'application/json; \u00e9=b',
    'application/\u00a0x+json',
  ])('%j is 415', async (type) => {
    expect(await post([`Content-Type: ${type}`], '{"name":"a"}')).toEqual({
      status: 415,
      code: 'unsupported_media_type',
    });
  });

  test('a missing content type is 415', async () => {
    expect(await post([], '{"name":"a"}')).toEqual({ status: 415, code: 'unsupported_media_type' });
  });

  test('a Content-Encoding other than identity is 415', async () => {
    expect(await post([json, 'Content-Encoding: gzip'], '{"name":"a"}')).toMatchObject({ status: 415 });
    expect(await post([json, 'Content-Encoding: identity'], '{"name":"a"}')).toMatchObject({ status: 201 });
  });

  test('a chunked command is 411 length_required', async () => {
    const bytes = request(
      'POST /v1/organization/things',
      [credential, key, json, 'Transfer-Encoding: chunked'],
      '0\r\n\r\n',
    );
    const { statuses, answers, closed } = await send(service.port, bytes, { closes: true });
    expect(statuses).toEqual([411]);
    expect(codeOf(answers[0]!.body)).toBe('length_required');
    expect(closed).toBe(true);
  });

  const archive = '/v1/organization/things/t1/archive';

  test('a route without a body takes nothing or an empty object, of any type', async () => {
    expect(await post([], '', archive)).toMatchObject({ status: 200 });
    expect(await post([], '{}', archive)).toMatchObject({ status: 200 });
    expect(await post(['Content-Type: application/x-www-form-urlencoded'], ' {} ', archive)).toMatchObject({
      status: 200,
    });
  });

  test('a route without a body refuses a member and what is no object', async () => {
    expect(await post([], '{"force":true}', archive)).toEqual({ status: 422, code: 'unknown_field' });
    expect(await post([], '[]', archive)).toEqual({ status: 400, code: 'invalid_json' });
    expect(await post([], 'x', archive)).toEqual({ status: 400, code: 'invalid_json' });
  });

  test('a POST without any length is answered and closed', async () => {
    const { statuses, closed } = await send(service.port, request(`POST ${archive}`, [credential]), { closes: true });
    expect(statuses).toEqual([200]);
    expect(closed).toBe(true);
  });

  test('an empty body where one is needed is invalid_json', async () => {
    expect(await post([json], '')).toEqual({ status: 400, code: 'invalid_json' });
  });

  test('a body on GET is read and ignored', async () => {
    const bytes = request('GET /v1/models', [credential, 'Content-Length: 3'], 'abc');
    const pieces = [bytes, request('GET /v1/marker')];
    expect((await send(service.port, '', { pieces, inTurn: true, answers: 2 })).statuses).toEqual([200, 200]);
  });
});
