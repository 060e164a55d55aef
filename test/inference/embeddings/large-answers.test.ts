// Lane: middle: its answers are large
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bearer } from '../../support/whole-gateway.ts';
import { passingStage, says } from '../passing-stage.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** The bounds of an answer with embeddings (contract G.9, L.4). */

const mebibyte = 1024 * 1024;
let stage: Awaited<ReturnType<typeof passingStage>>;
beforeAll(async () => {
  stage = await passingStage('sk-canary-cc04', (remote) => [
    { id: 'e', upstream: { kind: 'openai', ...remote, apis: ['embeddings'] } },
  ]);
});
afterAll(() => stage.close());

const piece = `"${'A'.repeat(mebibyte - 3)}",`;
const ofMebibytes = (many: number): string => `{"data":[${piece.repeat(many)}"A"],"model":"theirs"}`;
const ask = () => stage.post('/v1/embeddings', { model: 'e', input: [1, 2, 3] });
const account = () => stage.at.accounts.settled.at(-1);

test('it may have 64 MiB', async () => {
  stage.upstream.respond = says(ofMebibytes(63));
  const { status, text } = await ask();
  expect([status, text === ofMebibytes(63).replace('theirs', 'e')]).toEqual([200, true]);
  stage.upstream.respond = says(ofMebibytes(65));
  const refused = await ask();
  expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([502, 'provider_error']);
});

test('one for which there is no room has been made, and is charged by the estimate', async () => {
  const server = await stage.at.listen({ maxBufferedBytes: 4 * mebibyte });
  stage.upstream.respond = says(ofMebibytes(2));
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/embeddings`, {
    method: 'POST',
    headers: { ...bearer(stage.mine.projectKey.value), 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'e', input: [1, 2, 3] }),
  });
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
    503,
    'server_busy',
  ]);
  expect(account()).toMatchObject({ status: 503, input_tokens: 3 + 8, output_tokens: 0 });
  await server.drain(0);
});
