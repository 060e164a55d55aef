import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { route } from '../../src/http/route.ts';
import { eventually, request, send } from './raw-client.ts';
import { type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

interface Held {
  readonly service: Service;
  release(): void;
}

const start = async (): Promise<Held> => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const service = await startService({}, () => [
    route({
      method: 'GET',
      path: '/v1/held',
      operation: 'held',
      summary: 'Waits',
      tag: 'Operations',
      family: 'admin',
      access: { credential: 'none' },
      replies: { 200: { description: 'Done.' } },
      handle: async () => {
        await held;
        return { status: 200, body: { held: true } };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/alive',
      operation: 'alive',
      summary: 'Answers',
      tag: 'Operations',
      family: 'admin',
      access: { credential: 'none' },
      whileDraining: true,
      replies: { 200: { description: 'Done.' } },
      handle: () => ({ status: 200, body: {} }),
    }),
  ]);
  return { service, release: () => release() };
};

describe('drain', () => {
  test('lets what is in flight finish, refuses what is new, then closes', async () => {
    const { service, release } = await start();
    const inFlight = send(service.port, request('GET /v1/held'), { closes: true });
    await eventually(() => service.server.inFlight).toBe(1);
    let isOver = false;
    const drained = service.server.drain(5000).then(() => {
      isOver = true;
    });
    const refused = await send(service.port, request('GET /v1/marker'), { closes: true });
    expect(refused.statuses).toEqual([503]);
    expect(refused.closed).toBe(true);
    expect(refused.answers[0]?.headers.get('connection')).toBe('close');
    expect(refused.answers[0]?.headers.get('retry-after')).toBe('1');
    expect(JSON.parse(refused.answers[0]!.body).error.code).toBe('server_shutting_down');
    expect(service.effects.marked).toBe(0);
    expect(isOver).toBe(false);
    release();
    const { statuses, closed, answers } = await inFlight;
    expect([statuses, closed]).toEqual([[200], true]);
    expect(answers[0]?.headers.get('connection')).toBe('close');
    await drained;
    expect((await send(service.port, request('GET /v1/marker'), { closes: true })).statuses).toEqual([]);
  });

  test('answers what is asked while it drains, on a connection that it closes', async () => {
    const { service, release } = await start();
    const inFlight = send(service.port, request('GET /v1/held'), { closes: true });
    await eventually(() => service.server.inFlight).toBe(1);
    const drained = service.server.drain(5000);
    const asked = await send(service.port, request('GET /v1/alive'), { closes: true });
    expect([asked.statuses, asked.closed, asked.answers[0]?.headers.get('connection')]).toEqual([[200], true, 'close']);
    release();
    await inFlight;
    await drained;
  });

  test('a client that keeps its connection alive is refused on it and let go', async () => {
    const { service, release } = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (): Promise<number | undefined> =>
      new Promise((resolve) => {
        get({ port: service.port, host: '127.0.0.1', path: '/v1/marker', agent }, (answer) => {
          answer.resume();
          answer.on('end', () => resolve(answer.statusCode));
        });
      });
    expect(await ask()).toBe(200);
    const other = send(service.port, request('GET /v1/held'), { closes: true });
    await eventually(() => service.server.inFlight).toBe(1);
    const drained = service.server.drain(5000);
    expect(await ask()).toBe(503);
    release();
    await other;
    await drained;
    agent.destroy();
  });

  test('does not wait longer than it was told to, and cuts what is left', async () => {
    const { service } = await start();
    const cut = send(service.port, request('GET /v1/held'), { closes: true });
    await eventually(() => service.server.inFlight).toBe(1);
    const from = performance.now();
    await service.server.drain(100);
    expect(performance.now() - from).toBeLessThan(4000);
    expect(await cut).toMatchObject({ statuses: [], closed: true });
    expect(service.server.inFlight).toBe(0);
  });

  test('with nothing in flight is over at once, and may be asked for twice', async () => {
    const { service } = await start();
    const socket = connect(service.port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    await Promise.all([service.server.drain(5000), service.server.drain(1)]);
    await closed;
  });
});
