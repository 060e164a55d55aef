import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { request, send } from '../http/raw-client.ts';
import { matrix, named } from './stage.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Which routes a page of an allowed origin gets to read, told apart from the code that does it (contract A.7). */

const origin = 'https://console.example';
let stage: Awaited<ReturnType<typeof matrix>>;
let server: HttpServer;
beforeAll(async () => {
  stage = await matrix();
  server = await stage.at.listen({ corsOrigins: [origin] });
});
afterAll(async () => {
  await server.drain(0);
  await stage.at.close();
});

const ask = async (line: string, headers: readonly string[]) => {
  const { answers } = await send(server.port, request(line, headers), { answers: 1 });
  return answers[0]!;
};
const pathOf = (path: string): string => path.replace(/\{\w+\*?\}/g, 'x');

describe('a page of an allowed origin', () => {
  test.each(named)('at $title', async ({ route, title }) => {
    const path = pathOf(route.path);
    const isPolicy = path.startsWith('/v1/organization/policies');
    const isOpen = !isPolicy && !path.startsWith('/v1/oauth/');
    const preflight = await ask(`OPTIONS ${path}`, [
      `Origin: ${origin}`,
      `Access-Control-Request-Method: ${route.method}`,
      'Access-Control-Request-Headers: authorization',
    ]);
    expect(preflight.status).toBe(isPolicy ? 403 : 204);
    const methods = preflight.headers.get('access-control-allow-methods')?.split(', ') ?? [];
    expect(methods.includes(route.method)).toBe(isOpen);
    const { adminKey, projectKey } = stage.mine;
    const key = route.access.credential === 'project' ? projectKey.value : adminKey.value;
    const good = [
      `Origin: ${origin}`,
      `Authorization: Bearer ${key}`,
      'Content-Length: 0',
      'Idempotency-Key: 12345678',
    ];
    for (const answer of [
      preflight,
      await ask(title.replace(route.path, path), good),
      await ask(title.replace(route.path, path), [`Origin: ${origin}`, 'Content-Length: 0']),
      await ask(`PUT ${path}`, good),
    ]) {
      const cors = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));
      expect(answer.headers.get('access-control-allow-origin')).toBe(isOpen ? origin : undefined);
      expect(cors.length > 0).toBe(isOpen);
    }
  });
});
