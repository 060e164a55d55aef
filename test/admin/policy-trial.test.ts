// Lane: middle: it runs at length
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

/** What the trial of a rule may cost everybody else, over a socket. */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let key: string;
beforeAll(async () => {
  at = await wholeGateway();
  server = await at.listen();
  key = (await at.make.tenant()).adminKey.value;
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});

const ask = async (path: string, body?: object) => {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    headers: { ...bearer(key), 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  return { status: response.status, body: (await response.json()) as any };
};
const policies = '/v1/organization/policies';
const validate = (rule: string) => ask(`${policies}/validate`, { rule, direction: 'request' });
const items = (count: number): string => `[${Array.from({ length: count }, (_, i) => i % 10).join()}]`;
const pairs = (count: number, body: string): string => `${items(count)}.all(x, ${items(count)}.all(y, ${body}))`;

test('a rule that is too much work whatever it is asked about is no rule, wherever it is sent', async () => {
  const rule = pairs(200, 'x + y >= 0');
  expect(rule.length).toBeLessThan(1300);
  const answer = await validate(rule);
  expect([answer.status, answer.body.valid]).toEqual([200, false]);
  expect(answer.body.errors).toEqual([
    { message: 'The rule takes more work than one evaluation may, whatever it is asked about.', line: 1, column: 1 },
  ]);
  const created = await ask(policies, { name: 'a policy', rule });
  expect([created.status, created.body.error.code]).toEqual([422, 'policy_rule_invalid']);
  const { body: policy } = await ask(policies, { name: 'a policy', rule: 'true' });
  const updated = await ask(`${policies}/${policy.id}`, { revision: 1, rule });
  expect([updated.status, updated.body.error.code]).toEqual([422, 'policy_rule_invalid']);
});

test('others are served while a rule is under trial', async () => {
  const { body: policy } = await ask(policies, { name: 'a policy', rule: 'true' });
  const rule = pairs(100, 'now.getHours("Europe/Berlin") + x >= 0');
  const asks = [
    () => validate(rule),
    () => ask(policies, { name: 'a policy', rule }),
    () => ask(`${policies}/${policy.id}`, { revision: 1, rule }),
  ];
  for (const trial of asks) {
    let isUnderTrial = true;
    const answered = trial().finally(() => {
      isUnderTrial = false;
    });
    let served = 0;
    while (isUnderTrial) {
      expect((await ask('/v1/health')).status).toBe(200);
      served += 1;
    }
    // A slow machine may not get through in two seconds, and then it says so.
    expect([200, 201, 422]).toContain((await answered).status);
    expect(served).toBeGreaterThan(20);
  }
});
