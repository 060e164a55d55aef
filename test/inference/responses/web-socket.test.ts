import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { defaultModels } from '../../../src/data/upstream/models/default-models.ts';
import type { HttpServer } from '../../../src/http/listen/server.ts';
import { openapi } from '../../../src/http/openapi/openapi.ts';
import { type RawAnswer, send } from '../../http/raw-client.ts';
import { type Document, describedBy } from '../../support/described.ts';
import { wholeGateway } from '../../support/whole-gateway.ts';

/** Clients that try a WebSocket first are told that there is none (contract C.2, RFC 9110, 15.5.22). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let key: string;
beforeAll(async () => {
  at = await wholeGateway();
  key = (await at.make.tenant()).projectKey.value;
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});

const handshake = (upgrade: string) => [
  'Connection: keep-alive, Upgrade',
  `Upgrade: ${upgrade}`,
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];
const request = (line: string, lines: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');
const authorized = () => `Authorization: Bearer ${key}`;
/** The answers to requests on one connection, each sent once the one before is answered. */
const answersTo = async (...pieces: readonly string[]): Promise<readonly RawAnswer[]> =>
  (await send(server.port, '', { pieces, inTurn: true, answers: pieces.length })).answers;

test.each(['websocket', 'WebSocket', 'h2c, websocket', 'websocket/13'])('Upgrade: %s is 426', async (upgrade) => {
  const asked = request('GET /v1/responses?model=m', [authorized(), ...handshake(upgrade)]);
  const [answer, again] = await answersTo(asked, asked);
  expect(answer!.status).toBe(426);
  expect(answer!.headers.get('upgrade')).toBe('HTTP/1.1');
  expect(answer!.headers.get('connection')).toBe('Upgrade');
  expect(JSON.parse(answer!.body)).toEqual({
    error: { message: expect.any(String), type: 'invalid_request_error', param: null, code: 'upgrade_required' },
  });
  // The connection goes on.
  expect(again!.status).toBe(426);
  const described = describedBy(JSON.parse(JSON.stringify(openapi(at.routes))) as Document);
  const media = 'application/json';
  described({ method: 'GET', path: '/v1/responses', status: 426, media, body: JSON.parse(answer!.body) });
});

test('after it, the client falls back to POST on the same connection', async () => {
  const body = JSON.stringify({ model: defaultModels.models[0]!.id, input: 'x' });
  const post = request('POST /v1/responses', [
    authorized(),
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]);
  const [refused, answer] = await answersTo(
    request('GET /v1/responses', [authorized(), ...handshake('websocket')]),
    `${post}${body}`,
  );
  expect([refused!.status, answer!.status]).toEqual([426, 200]);
});

test('a credential is judged first, and without the header GET is no method of the route', async () => {
  const [nobody] = await answersTo(request('GET /v1/responses', handshake('websocket')));
  expect(nobody!.status).toBe(401);
  for (const lines of [[], handshake('h2c'), handshake('websockets')]) {
    const [answer] = await answersTo(request('GET /v1/responses', [authorized(), ...lines]));
    expect([answer!.status, answer!.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  }
});

test.each([
  'GET /v1/models',
  'GET /v1/health',
  'GET /v1/responses/resp_1',
  'DELETE /v1/models',
  'OPTIONS /v1/responses',
  'GET /nowhere',
])('%s ignores it', async (line) => {
  // Some answers without a body are the last of their connection.
  const [plain] = await answersTo(request(line, [authorized(), 'Content-Length: 0']));
  const [asked] = await answersTo(request(line, [authorized(), 'Content-Length: 0', ...handshake('websocket')]));
  const told = ({ status, body }: RawAnswer) => [status, body.replace(/req_\w+/g, '')];
  expect(told(asked!)).toEqual(told(plain!));
  expect(asked!.headers.has('upgrade')).toBe(false);
});
