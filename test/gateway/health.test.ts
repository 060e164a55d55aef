import { expect, test } from 'vitest';
import { healthRoutes } from '../../src/gateway/health.ts';
import { asker } from '../admin/ask.ts';

test('readiness names what is not there, and says when to ask again', async () => {
  const there: Record<string, boolean> = { eventstore: true, cellar: true };
  const ask = asker(healthRoutes({ eventstore: async () => there.eventstore!, cellar: async () => there.cellar! }));
  expect(await ask('GET', '/v1/ready')).toMatchObject({ status: 200, body: { status: 'ok' } });
  there.eventstore = false;
  expect(await ask('GET', '/v1/ready')).toMatchObject({
    status: 503,
    code: 'dependency_unavailable',
    message: 'Not available: eventstore.',
    headers: { 'Retry-After': '1' },
  });
  there.cellar = false;
  expect((await ask('GET', '/v1/ready')).message).toBe('Not available: eventstore, cellar.');
  expect((await ask('GET', '/v1/health')).status).toBe(200);
});

test('however many ask for readiness at once, the store is asked once, and again for those who come later', async () => {
  let asked = 0;
  let answer = (_: boolean): void => {};
  const probe = () => {
    asked++;
    return new Promise<boolean>((resolve) => {
      answer = resolve;
    });
  };
  const ask = asker(healthRoutes({ eventstore: probe }));
  const first = Promise.all(Array.from({ length: 50 }, () => ask('GET', '/v1/ready')));
  expect(asked).toBe(1);
  answer(true);
  expect((await first).map(({ status }) => status)).toEqual(Array(50).fill(200));
  const second = ask('GET', '/v1/ready');
  expect(asked).toBe(2);
  answer(false);
  expect((await second).status).toBe(503);
});
