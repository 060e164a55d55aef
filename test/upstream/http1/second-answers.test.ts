import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../../src/data/upstream/connect.ts';
import { trusting } from '../../../src/data/upstream/http1/trust.ts';
import { loadModels } from '../../../src/data/upstream/models/models.ts';
import { onSignal } from '../../../src/telemetry.ts';
import { certificateAuthority, signedBy } from '../../support/certificates.ts';
import { fixedClock } from '../../support/fixed-clock.ts';
import { options, request } from '../requests.ts';
import { answer, ask, askAndRest, listen, onRequest, poolTo } from './askers.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 120_000 });

const authority = certificateAuthority();
const trust = trusting({ file: '/ca.pem', pem: authority.cert });
const certificate = signedBy(authority, ['models.example']);

/** A server over TLS until the test ends. */
const listenTls = async (onConnection: (socket: Socket, index: number) => void) => {
  const sockets: Socket[] = [];
  const server = createTlsServer(certificate, (socket) => {
    socket.on('error', () => {});
    sockets.push(socket);
    onConnection(socket, sockets.length - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
};

/** More than the buffers of both sides hold. */
const large = 'x'.repeat(8_000_000);
const later = (turns: number, work: () => void): void =>
  turns === 0 ? work() : void setImmediate(() => later(turns - 1, work));

describe.each([
  ['without TLS', listen, null],
  ['over TLS', listenTls, trust],
] as const)('an upstream that answers twice, %s', (_, serve, trusted) => {
  test.each<[string, string]>([
    ['one byte', ' '],
    ['a line end', '\r\n'],
    ['half a head', 'HTTP/1.1 2'],
    ['an interim answer', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('by %s while the connection is idle loses it, and is named', async (_, bytes) => {
    const server = await serve((socket) => onRequest(socket, (body) => socket.write(answer(body))));
    const pool = poolTo(server.port, { trust: trusted });
    await askAndRest(pool, 'a');
    server.sockets[0]!.write(bytes);
    await vi.waitFor(() => expect(pool.unasked()).toBe(1), { timeout: 20_000 });
    expect(await askAndRest(pool, 'b')).toEqual({ body: 'b' });
    expect(server.sockets).toHaveLength(2);
  });

  test('before a request has been sent on a used connection is not believed, and the request goes out again', async () => {
    const server = await serve((socket, index) => {
      if (index > 0) {
        socket.once('data', () => socket.write(answer('again')));
        return;
      }
      socket.on('data', (piece) => {
        if (piece.includes('\r\n\r\nfirst')) socket.write(answer('first'));
        else {
          socket.pause();
          socket.write(answer('poison'));
        }
      });
    });
    const pool = poolTo(server.port, { trust: trusted, connections: 1 });
    expect(await askAndRest(pool, 'first')).toEqual({ body: 'first' });
    // It goes before the request that waits.
    const asked = [large, 'next'].map((body) => ask(pool, body).over);
    expect(await Promise.all(asked)).toEqual([{ body: 'again' }, { body: 'again' }]);
    expect(pool.unasked()).toBe(1);
    expect(server.sockets).toHaveLength(3);
  });

  test('whose first answer comes early is believed, because it has had no other request', async () => {
    const server = await serve((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write(answer('too large').replace('200', '413'));
      });
    });
    const pool = poolTo(server.port, { trust: trusted });
    expect(await askAndRest(pool, large)).toEqual({ body: 'too large' });
    expect(await askAndRest(pool, large)).toEqual({ body: 'too large' });
    expect(server.sockets).toHaveLength(2);
    expect(pool.unasked()).toBe(0);
  });
});

test.each([1, 2])('a second answer %i turns after the first is not that of the next request', async (turns) => {
  const server = await listen((socket) =>
    onRequest(socket, (body) => {
      socket.write(answer(body));
      if (body === 'r0') later(turns, () => socket.write(answer('poison')));
    }),
  );
  const pool = poolTo(server.port, { connections: 1 });
  const asked = ['r0', 'r1', 'r2'].map((body) => ask(pool, body).over);
  expect(await Promise.all(asked)).toEqual([{ body: 'r0' }, { body: 'r1' }, { body: 'r2' }]);
  expect(server.sockets).toHaveLength(2);
  expect(pool.unasked()).toBe(1);
});

test.each<[string, string]>([
  ['an answer with a length', answer('a')],
  ['an answer in chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: y\r\n\r\n'],
  ['an answer without a body', 'HTTP/1.1 204 No\r\n\r\n'],
  ['the last answer of its connection', answer('a', 'connection: close\r\n')],
])('one byte too many after %s is named, and the answer stays valid', async (_, bytes) => {
  const server = await listen((socket) => onRequest(socket, () => socket.write(`${bytes}\n`)));
  const pool = poolTo(server.port);
  expect(await askAndRest(pool)).toHaveProperty('body');
  expect(await askAndRest(pool)).toHaveProperty('body');
  expect(pool.unasked()).toBe(2);
  expect(server.sockets).toHaveLength(2);
});

test('over TLS no answer is taken for early because Node tells late of the end of a write', async () => {
  const said = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `const { parentPort, workerData: { said, key, cert } } = require('node:worker_threads');
     require('node:tls').createServer({ key, cert }, (socket) => {
       socket.on('error', () => {});
       socket.on('data', () => {
         socket.write('HTTP/1.1 200 OK\\r\\ncontent-length: 1\\r\\n\\r\\na');
         setImmediate(() => { Atomics.add(said, 0, 1); Atomics.notify(said, 0); });
       });
     }).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port); });`,
    { eval: true, workerData: { said, ...certificate } },
  );
  onTestFinished(async () => void (await worker.terminate()));
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  const pool = poolTo(port, { trust });
  await askAndRest(pool, 'a');
  for (let at = 1; at <= 20; at++) {
    const over = await new Promise<unknown>((resolve) => {
      setImmediate(() => {
        const asked = ask(pool, 'a');
        // The answer lies in the socket before the loop goes on.
        Atomics.wait(said, 0, at);
        resolve(asked.over);
      });
    });
    expect(over).toEqual({ body: 'a' });
    await vi.waitFor(() => expect(pool.ended).toBe(at + 1), { timeout: 20_000, interval: 1 });
  }
  expect(pool.unasked()).toBe(0);
});

test('a signal names the model and the upstream', async () => {
  const server = await listen((socket) => onRequest(socket, () => socket.write(`${answer('{}')}!`)));
  const signals: object[] = [];
  onTestFinished(onSignal((name, signal) => void (name === 'upstream.unasked' && signals.push(signal))));
  const remote = { kind: 'anthropic', base_url: `http://127.0.0.1:${server.port}`, private_network: true };
  const upstreams = [{ ...remote, api_key_env: 'KEY', name: 'here' }];
  const declared = { id: 'm', context_length: 8_000, max_output_length: 1_000, upstreams };
  const connected = connect(loadModels(JSON.stringify({ models: [declared] }), { KEY: 'k' }), {
    clock: fixedClock(1_700_000_000_000),
  });
  onTestFinished(() => connected.close());
  await expect(connected.get('m')!.upstream.answer(request(), options())).rejects.toThrow();
  expect(signals).toEqual([{ model: 'm', upstream: 'here' }]);
});

/** What a server may do with a request: all of it is answered with what was asked, if it is answered. */
const manners = {
  whole: answer,
  chunked: (body: string) =>
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  'interim first': (body: string) => `HTTP/1.1 100 Continue\r\n\r\n${answer(body)}`,
  'the last of its connection': (body: string) => answer(body, 'connection: close\r\n'),
  nothing: () => '',
  'a part': (body: string) => answer(body).slice(0, -1),
} satisfies Record<string, (body: string) => string>;
type Manner = keyof typeof manners;

const poison = answer('poison');
/** What comes beside an answer. After more than two turns it may come after the next request, which HTTP/1.1 leaves open. */
const extras = ['none', 'none', 'with it', 'one turn later', 'two turns later', 'a part', 'a byte'] as const;
const seconds: Partial<Record<(typeof extras)[number], string>> = {
  'one turn later': poison,
  'two turns later': poison,
  'a part': poison.slice(0, 30),
  'a byte': '\n',
};

const requests = Number(process.env.SECOND_ANSWERS ?? 300);

test('no request is ever given the answer of another, whatever the server does', async () => {
  const anyTurn = fc.record({
    manner: fc.constantFrom(...(Object.keys(manners) as Manner[])),
    extra: fc.constantFrom(...extras),
    step: fc.integer({ min: 1, max: 60 }),
    ending: fc.constantFrom('stays', 'stays', 'stays', 'ends', 'resets'),
  });
  let [answered, named, early] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyTurn, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 10, maxLength: 10 }),
      fc.boolean(),
      async (turns, connections, sizes, isSecret) => {
        let turn = 0;
        const server = await (isSecret ? listenTls : listen)((socket) => {
          let served = 0;
          const next = () => turns[turn++ % turns.length]!;
          onBegun(socket, (isWhole, id) => {
            served += 1;
            const { manner, extra, step, ending } = next();
            if (!isWhole) {
              // The first request of a connection can be answered early; what is early later may be anybody's.
              early += 1;
              socket.write(served === 1 ? answer(id) : poison);
              return;
            }
            const bytes = manners[manner](id);
            const size = extra === 'none' ? step : bytes.length;
            const isAnswered = manner !== 'nothing' && manner !== 'a part';
            const excess = isAnswered && extra === 'with it' ? poison : '';
            for (let at = 0; at < bytes.length; at += size) socket.write(bytes.slice(at, at + size) + excess);
            const second = seconds[extra];
            // Over TLS nobody knows in which turn a second write goes out.
            const turns = extra === 'two turns later' ? 2 : 1;
            if (isAnswered && second !== undefined && !isSecret) later(turns, () => socket.write(second));
            if (ending === 'resets' && !isSecret) socket.resetAndDestroy();
            else if (ending !== 'stays' || !isAnswered || manner === 'the last of its connection') socket.end();
          });
        });
        const pool = poolTo(server.port, { connections, trust: isSecret ? trust : null });
        const asked = sizes.map((size, at) => ask(pool, `r${at};${size === 0 ? large : 'y'.repeat(size)}`).over);
        for (const [at, over] of asked.entries()) {
          const outcome = await over;
          if (!('body' in outcome)) continue;
          expect(outcome.body).toBe(`r${at};`);
          answered += 1;
        }
        await pool.close();
        named += pool.unasked();
      },
    ),
    { numRuns: Math.ceil(requests / 10) },
  );
  expect(answered).toBeGreaterThan(requests / 4);
  expect(named).toBeGreaterThan(requests / 40);
  expect(early).toBeGreaterThan(0);
});

/** Calls back with a request's id: once it is there, or, of a large one, as soon as it has begun, and reads no more of that. */
const onBegun = (socket: Socket, respond: (isWhole: boolean, id: string) => void): void => {
  let received = '';
  socket.on('data', (piece) => {
    received += piece.toString('latin1');
    for (;;) {
      const head = received.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/.exec(received)?.[1] ?? 0);
      const id = /\r\n\r\n(r\d+;)/.exec(received)?.[1];
      if (head === -1 || id === undefined) return;
      if (length > 1_000_000) {
        socket.pause();
        received = '';
        respond(false, id);
        return;
      }
      if (received.length < head + 4 + length) return;
      received = received.slice(head + 4 + length);
      respond(true, id);
    }
  });
};
