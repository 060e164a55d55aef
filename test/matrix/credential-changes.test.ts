import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { type Change, changes, concerns, holdWrite, writes } from './credential-changes.ts';
import { matrix, ownerOf, rowOf } from './stage.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let stage: Awaited<ReturnType<typeof matrix>>;
let server: HttpServer;
beforeAll(async () => {
  stage = await matrix();
  server = await stage.at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await stage.at.close();
});

const idsOf = async (write: (typeof writes)[number], owner = stage.mine) =>
  (await rowOf(write.route).ids?.(owner)) ?? {};

test('there are as many such routes as write something', () => {
  expect(writes.length).toBeGreaterThan(15);
  for (const write of writes)
    expect(
      changes.some((change) => concerns(change, write)),
      write.title,
    ).toBe(true);
});

describe('a request whose body is complete after its credential has changed', () => {
  test.each(writes)('succeeds while the credential is as it was: $title', async (write) => {
    const value = ownerOf(write.route, stage.mine).authorization!.slice('Bearer '.length);
    const held = await holdWrite(server, write, await idsOf(write), value);
    expect((await held.finish()).status).toBe(rowOf(write.route).status);
  });

  const cases: [string, Change, (typeof writes)[number]][] = changes.flatMap((change) =>
    writes
      .filter((write) => concerns(change, write))
      .map((write) => [`${change.title}: ${write.title}`, change, write]),
  );
  test.each(cases)('%s is refused, and nothing is done', async (_, change, write) => {
    const changing = await change.make(stage, stage.mine);
    const held = await holdWrite(server, write, await idsOf(write, changing.owner), changing.value);
    await changing.change();
    const before = stage.at.store.log.length;
    const answer = await held.finish();
    expect(`${answer.status} ${answer.code}`).toBe(change.answer);
    if (answer.status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="api"/);
    expect(stage.at.store.log.length).toBe(before);
    expect(server.inFlight).toBe(0);
  });
});
