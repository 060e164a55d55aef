import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { headerLines, post } from '../../../src/data/upstream/http1/request.ts';
import { answer, ask, askAndRest, listen, onRequest, poolTo, Recorder } from './askers.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000 });
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 5 });

/** A server that gives each request back as its answer. */
const echo = (fields = '') => listen((socket) => onRequest(socket, (body) => socket.write(answer(body, fields))));

describe('a request', () => {
  test.each([0, 10, 12_288, 12_289, 300_000])('of %i bytes arrives as it was written', async (length) => {
    let received = '';
    const body = Array.from({ length }, (_, at) => String.fromCharCode((at * 7) % 256)).join('');
    const expected = `POST /v1 HTTP/1.1\r\nhost: models.example\r\naccept: a\r\ncontent-length: ${length}\r\n\r\n${body}`;
    const { port } = await listen((socket) => {
      socket.on('data', (piece) => {
        received += piece.toString('latin1');
        if (received.length === expected.length) socket.write(answer('done'));
      });
    });
    expect(await ask(poolTo(port), body).over).toEqual({ body: 'done' });
    expect(received).toBe(expected);
  });

  test('cannot be split by a header, whatever the header holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (value) => {
        let head = '';
        try {
          head = post('h', '/', headerLines({ x: value }), Buffer.alloc(0)).head;
        } catch (error) {
          expect((error as Error).message).not.toContain(value || '\0');
          return;
        }
        const bytes = Buffer.from(head, 'latin1').toString('latin1');
        expect(bytes.split('\n')).toHaveLength(6);
        expect(bytes).toContain(`\r\nx: ${value}\r\n`);
      }),
      { examples: [['a\r\nb: c'], ['\n'], ['\u010a'], ['a\0'], ['']] },
    );
    expect(() => post('h', '/', headerLines({ x: 'a\nb' }), Buffer.alloc(0))).toThrow('the header x');
    expect(() => post('h', '/', headerLines({ x: '\u010a' }), Buffer.alloc(0))).toThrow('the header x');
  });
});

describe('a connection', () => {
  test('is used again, the last one first', async () => {
    const server = await echo();
    const pool = poolTo(server.port);
    const both = [ask(pool, 'a'), ask(pool, 'b')];
    expect(await Promise.all(both.map(({ over }) => over))).toEqual([{ body: 'a' }, { body: 'b' }]);
    await eventually(() => expect(pool.ended).toBe(2));
    for (const body of ['c', 'd', 'e']) expect(await askAndRest(pool, body)).toEqual({ body });
    expect(server.sockets).toHaveLength(2);
  });

  test('ends when it has been idle for long enough, and not before', async () => {
    const server = await echo();
    const pool = poolTo(server.port, { keepMs: 300 });
    await askAndRest(pool);
    const since = performance.now();
    await eventually(() => expect(server.open()).toBe(0));
    expect(performance.now() - since).toBeGreaterThan(290);
  });

  test('is not used when its time is over, though it is still open', async () => {
    const server = await echo('keep-alive: timeout=5\r\n');
    let now = 0;
    const pool = poolTo(server.port, { clock: { wall: () => 0, monotonic: () => now } });
    await askAndRest(pool);
    now = 3_999;
    await askAndRest(pool);
    expect(server.sockets).toHaveLength(1);
    now += 4_000;
    await askAndRest(pool);
    expect(server.sockets).toHaveLength(2);
  });

  test('is not used at all where the upstream gives it hardly any time', async () => {
    const server = await echo('keep-alive: timeout=1\r\n');
    const pool = poolTo(server.port);
    await askAndRest(pool);
    await askAndRest(pool);
    expect(server.sockets).toHaveLength(2);
  });

  test('that the upstream ended while it was idle is not used', async () => {
    const server = await echo();
    const pool = poolTo(server.port);
    await askAndRest(pool);
    server.sockets[0]!.end();
    await eventually(() => expect(server.sockets[0]!.destroyed).toBe(true));
    expect(await ask(pool, 'a').over).toEqual({ body: 'a' });
    expect(server.sockets).toHaveLength(2);
  });

  test('that the upstream ends instead of an answer fails as not answered', async () => {
    const { port } = await listen((socket) => {
      let asked = 0;
      onRequest(socket, (body) => {
        asked += 1;
        if (asked === 1) socket.write(answer(body));
        else socket.end();
      });
    });
    const pool = poolTo(port);
    await askAndRest(pool);
    expect(await ask(pool).over).toEqual({ code: 'closed', answered: false });
  });

  test('on which bytes came that nobody asked for is not used', async () => {
    const server = await echo();
    const pool = poolTo(server.port);
    await askAndRest(pool);
    server.sockets[0]!.write(answer('poison'));
    await eventually(() => expect(server.open()).toBe(0));
    expect(await ask(pool, 'a').over).toEqual({ body: 'a' });
  });

  test('on which more came than the answer is not used', async () => {
    const server = await listen((socket) => onRequest(socket, (body) => socket.write(answer(body) + answer('poison'))));
    const pool = poolTo(server.port);
    for (const body of ['a', 'b', 'c']) expect(await askAndRest(pool, body)).toEqual({ body });
    expect(server.sockets).toHaveLength(3);
  });

  test('whose answer came before all of the request is not used', async () => {
    // It reads only the beginning, so that the rest of the request stays on the way.
    const server = await listen((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write(answer('enough'));
      });
    });
    const pool = poolTo(server.port);
    expect(await askAndRest(pool, 'x'.repeat(20_000_000))).toEqual({ body: 'enough' });
    expect(pool.unasked()).toBe(0);
    expect(await ask(pool, 'y').over).toEqual({ body: 'enough' });
    expect(server.sockets).toHaveLength(2);
  });

  test('is told of an answer after interim ones', async () => {
    const { port } = await listen((socket) =>
      onRequest(socket, (body) => {
        socket.write('HTTP/1.1 100 Continue\r\n\r\n');
        setImmediate(() => socket.write(`HTTP/1.1 103 Hints\r\nlink: a\r\n\r\n${answer(body)}`));
      }),
    );
    const asked = ask(poolTo(port), 'a');
    expect(await asked.over).toEqual({ body: 'a' });
    expect(asked.heads).toBe(1);
  });

  test('whose other half stays open ends an answer without a length', async () => {
    const { port } = await listen((socket) => onRequest(socket, () => socket.end('HTTP/1.1 200 OK\r\n\r\nab')), {
      allowHalfOpen: true,
    });
    expect(await ask(poolTo(port)).over).toEqual({ body: 'ab' });
  });

  test.each([
    ['connection refused', 'ECONNREFUSED', {}],
    ['a name that leads nowhere', 'ENOTFOUND', { lookup: 'none' }],
  ])('that does not come about fails: %s', async (_, code, { lookup }: { lookup?: string }) => {
    const server = await listen(() => {});
    const gone = await listen(() => {});
    const failing = lookup === undefined ? {} : { lookup: failingLookup };
    // One connection at a time: the others wait, and must not wait for ever.
    const pool = poolTo(gone.port, {
      ...failing,
      connections: 1,
      host: lookup === undefined ? '127.0.0.2' : 'x.example',
    });
    const asked = [ask(pool), ask(pool), ask(pool)];
    for (const { over } of asked) expect(await over).toEqual({ code, answered: false });
    expect(server.sockets).toHaveLength(0);
  });

  test('that does not open in time fails, and not before', async () => {
    const pool = poolTo(1, { connectMs: 150, lookup: () => {} });
    const since = performance.now();
    expect(await ask(pool).over).toEqual({ code: 'connect_timeout', answered: false });
    expect(performance.now() - since).toBeGreaterThan(149);
  });

  test('goes to the next address where one does not answer', async () => {
    const server = await echo();
    const pool = poolTo(server.port, {
      lookup: (_, __, callback) =>
        callback(null, [
          { address: '::1', family: 6 },
          { address: '127.0.0.1', family: 4 },
        ]),
    });
    expect(await ask(pool, 'a').over).toEqual({ body: 'a' });
  });
});

const failingLookup = (_: string, __: object, callback: (error: NodeJS.ErrnoException, addresses: []) => void) =>
  callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);

describe('an answer that is not read', () => {
  const size = 30_000_000;
  const head = 'HTTP/1.1 200 OK\r\n';
  test.each<[string, string, (piece: string) => string, string]>([
    ['of a length', `content-length: ${size}\r\n\r\n`, (piece) => piece, ''],
    ['in chunks', 'transfer-encoding: chunked\r\n\r\n', (p) => `${p.length.toString(16)};a\r\n${p}\r\n`, '0\r\n\r\n'],
    ['that the end of the connection ends', '\r\n', (piece) => piece, ''],
  ])('waits at the upstream, and goes on when it is read: %s', async (_, fields, framed, last) => {
    let written = 0;
    const piece = Buffer.from(framed('x'.repeat(100_000)));
    const { port } = await listen((socket) =>
      onRequest(socket, () => {
        socket.write(head + fields);
        const write = () => {
          for (; written < size; written += 100_000) if (!socket.write(piece)) return void socket.once('drain', more);
          socket.end(last);
        };
        const more = () => {
          written += 100_000;
          write();
        };
        write();
      }),
    );
    const recorder = new Recorder();
    recorder.onBody = () => {
      if (recorder.length > 200_000) recorder.connection!.pause();
    };
    ask(poolTo(port), '', recorder);
    let before = -1;
    await eventually(() => {
      const was = before;
      before = written;
      expect(recorder.length).toBeGreaterThan(200_000);
      expect(written).toBe(was);
    });
    // What lies in the kernel's buffers is some megabytes.
    expect(recorder.length).toBeLessThan(400_000);
    expect(written).toBeLessThan(size - 5_000_000);
    recorder.onBody = null;
    recorder.connection!.resume();
    expect(await recorder.over).toEqual({ body: 'x'.repeat(size) });
  });

  test('to its end leaves a connection that notices what comes then', async () => {
    const server = await echo();
    const pool = poolTo(server.port);
    const recorder = new Recorder();
    recorder.onBody = () => recorder.connection!.pause();
    await ask(pool, 'a', recorder).over;
    server.sockets[0]!.end();
    await eventually(() => expect(server.sockets[0]!.destroyed).toBe(true));
    expect(await ask(pool, 'b').over).toEqual({ body: 'b' });
  });
});

describe('breaking off', () => {
  test('closes the connection at once, and the next in the queue gets its place', async () => {
    const server = await listen((socket) => onRequest(socket, (body) => body === 'b' && socket.write(answer(body))));
    const pool = poolTo(server.port, { connections: 1 });
    const [first, second] = [ask(pool, 'a'), ask(pool, 'b')];
    await eventually(() => expect(server.sockets).toHaveLength(1));
    expect(second.connection).toBeNull();
    first.connection!.destroy();
    expect(second.connection).not.toBeNull();
    expect(await second.over).toEqual({ body: 'b' });
    await eventually(() => expect(server.open()).toBe(1));
  });

  test('in the middle of what has come hands over no more of it', async () => {
    const { port } = await listen((socket) =>
      onRequest(socket, () =>
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n'),
      ),
    );
    const recorder = new Recorder();
    recorder.onBody = () => recorder.connection!.destroy();
    const pool = poolTo(port);
    ask(pool, '', recorder);
    await eventually(() => expect(recorder.text).toBe('a'));
    await pool.close();
    expect(recorder.text).toBe('a');
  });

  test('one that still waits takes it out of the queue', async () => {
    const server = await listen((socket) => onRequest(socket, (body) => body !== 'a' && socket.write(answer(body))));
    const pool = poolTo(server.port, { connections: 1 });
    const [first, second, third] = [ask(pool, 'a'), ask(pool, 'b'), ask(pool, 'c')];
    pool.forget(second);
    first.connection!.destroy();
    expect(await third.over).toEqual({ body: 'c' });
    expect(second.connection).toBeNull();
  });
});

describe('closing', () => {
  test('lets what has been asked end, also what still waits, and takes nothing more', async () => {
    const held: (() => void)[] = [];
    const server = await listen((socket) => onRequest(socket, (body) => held.push(() => socket.write(answer(body)))));
    const pool = poolTo(server.port, { connections: 1 });
    const asked = [ask(pool, 'a'), ask(pool, 'b')];
    let closed = false;
    const closing = pool.close().then(() => {
      closed = true;
    });
    expect(await ask(pool, 'c').over).toMatchObject({ answered: false });
    for (const { over } of asked) {
      await eventually(() => expect(held).toHaveLength(1));
      expect(closed).toBe(false);
      held.shift()!();
      expect(await over).toHaveProperty('body');
    }
    await closing;
    await eventually(() => expect(server.open()).toBe(0));
  });

  test('ends idle connections', async () => {
    const server = await echo();
    const pool = poolTo(server.port);
    await ask(pool).over;
    await pool.close();
    await eventually(() => expect(server.open()).toBe(0));
  });
});
