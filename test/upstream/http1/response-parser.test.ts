import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { anyMutant, anyPlaces, anySound, cut, read } from './corpus.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000 });

const of = (text: string) => Buffer.from(text, 'latin1');
const answer = (fields: string, body = '') => of(`HTTP/1.1 200 OK\r\n${fields}\r\n${body}`);
const chunks = (body: string) => answer('transfer-encoding: chunked\r\n', body);

describe('an answer', () => {
  test('is the same however its bytes are cut', () => {
    fc.assert(
      fc.property(anySound, anyPlaces, ({ text, body, closes }, places) => {
        const whole = read([of(text)], closes);
        expect(whole).toMatchObject({ body, ended: true, fault: null });
        expect(whole.heads).toHaveLength(1);
        expect(read(cut(of(text), places), closes)).toEqual(whole);
      }),
      { numRuns: 500 },
    );
  });

  test('and so is one that is not sound, with its fault', () => {
    const seen = { ended: 0, faults: 0 };
    fc.assert(
      fc.property(anyMutant, anyPlaces, fc.boolean(), (bytes, places, closes) => {
        const whole = read([bytes], closes);
        if (whole.ended) seen.ended += 1;
        if (whole.fault !== null) seen.faults += 1;
        // What follows an answer is in its own piece or not, and the connection is not used again either way.
        const { keepMs: _, ...told } = whole;
        expect(read(cut(bytes, places), closes)).toMatchObject(told);
      }),
      { numRuns: 1000 },
    );
    expect(Math.min(seen.ended, seen.faults)).toBeGreaterThan(150);
  });

  test('is what Node reads from the same bytes', async () => {
    let text = '';
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(of(text)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ask = () =>
      new Promise<object>((resolve, reject) => {
        const asked = request({ port, agent: false, method: 'POST', insecureHTTPParser: true }, (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('error', reject);
          response.on('end', () => {
            const values = (name: string) =>
              response.rawHeaders.filter(
                (_, at) => at % 2 === 1 && response.rawHeaders[at - 1]!.toLowerCase() === name,
              );
            const told = ['content-type', 'x-a', 'x-b'].map((name) => {
              const all = values(name);
              return all.length === 0 ? '-' : all.join(', ');
            });
            resolve({
              heads: [[response.statusCode, ...told].join('|')],
              body: Buffer.concat(pieces).toString('latin1'),
            });
          });
        });
        asked.on('error', reject);
        asked.end();
      });
    await fc.assert(
      fc.asyncProperty(anySound, async (sound) => {
        text = sound.text;
        const { heads, body } = read([of(text)], true);
        expect({ heads, body }).toEqual(await ask());
      }),
      { numRuns: 300 },
    );
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('a connection', () => {
  test.each<[string, Buffer, number]>([
    ['with a length', answer('content-length: 2\r\n', 'ab'), Number.POSITIVE_INFINITY],
    ['in chunks', chunks('2\r\nab\r\n0\r\n\r\n'), Number.POSITIVE_INFINITY],
    [
      'in chunks with extensions that Node refuses',
      chunks('2 ; a="b c"\r\nab\r\n0;\xe9\r\n\r\n'),
      Number.POSITIVE_INFINITY,
    ],
    ['without a body', of('HTTP/1.1 204 None\r\n\r\n'), Number.POSITIVE_INFINITY],
    ['that says how long', answer('content-length: 0\r\nKeep-Alive: max=9, timeout=5\r\n'), 4000],
    ['that says hardly any time', answer('content-length: 0\r\nkeep-alive: timeout=1\r\n'), 0],
    ['that says close', answer('content-length: 0\r\nConnection: keep-alive , Close\r\n'), 0],
    ['that names another option', answer('content-length: 0\r\nConnection: enclosed\r\n'), Number.POSITIVE_INFINITY],
    ['of HTTP/1.0', of('HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n'), 0],
    ['with bytes after it', answer('content-length: 2\r\n', 'abc'), 0],
    ['with bytes after its last chunk', chunks('0\r\n\r\nHTTP/1.1 200 OK\r\n'), 0],
    ['with bytes after no body', of('HTTP/1.1 204 None\r\n\r\nx'), 0],
    ['whose empty body has a length', of('HTTP/1.1 304 Same\r\ncontent-length: 7\r\n\r\n'), 0],
    ['whose empty body has chunks', of('HTTP/1.1 204 None\r\ntransfer-encoding: chunked\r\n\r\n'), 0],
  ])('is kept after an answer %s for so long', (_, bytes, keepMs) => {
    expect(read([bytes], false)).toMatchObject({ ended: true, fault: null, keepMs });
  });

  test('is not kept after an answer that its end ends', () => {
    expect(read([answer('', 'ab')], false)).toMatchObject({ body: 'ab', ended: false });
    expect(read([answer('', 'ab')], true)).toMatchObject({ body: 'ab', ended: true, keepMs: 0 });
  });
});

const long = 'a'.repeat(16_385);
const interim = 'HTTP/1.1 100 Continue\r\n\r\n';

describe('a hostile answer is refused', () => {
  test.each<[string, Buffer]>([
    ['not HTTP', of('SSH-2.0-OpenSSH_9.9\r\n')],
    ['HTTP/2', of('\0\0\x12\x04\0\0\0\0\0')],
    ['another version', of('HTTP/2.0 200 OK\r\n\r\n')],
    ['a line end first', of('\r\nHTTP/1.1 200 OK\r\n\r\n')],
    ['no status', of('HTTP/1.1 OK\r\n\r\n')],
    ['a status of four digits', of('HTTP/1.1 2000 OK\r\n\r\n')],
    ['a status below 100', of('HTTP/1.1 099 OK\r\n\r\n')],
    ['a switch of protocols', of('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n')],
    ['endless interim answers', of(interim.repeat(17))],
    ['bare line feeds', of('HTTP/1.1 200 OK\ncontent-length: 0\n\n')],
    ['a bare line feed in a head that goes on', of('HTTP/1.1 200 OK\r\na: b\nc')],
    ['a bare line feed between lines', answer('a: b\ncontent-length: 0\r\n')],
    ['a bare carriage return', answer('a: b\rc\r\ncontent-length: 0\r\n')],
    ['a folded line', answer('a: b\r\n c\r\ncontent-length: 0\r\n')],
    ['a space before a colon', answer('content-length : 0\r\n')],
    ['a line without a colon', answer('content-length\r\n')],
    ['a field without a name', answer(': 0\r\n')],
    ['a NUL in a value', answer('a: \0\r\n')],
    ['a head that is too large', answer(`a: ${long}\r\n`)],
    ['a head that is too large and goes on', of(`HTTP/1.1 200 OK\r\na: ${long}`)],
    ['two lengths', answer('content-length: 5\r\ncontent-length: 6\r\n', 'abcde')],
    ['the same length twice', answer('content-length: 5\r\nContent-Length: 5\r\n', 'abcde')],
    ['a list of lengths', answer('content-length: 5, 5\r\n', 'abcde')],
    ['a negative length', answer('content-length: -1\r\n')],
    ['a length with a sign', answer('content-length: +1\r\n', 'a')],
    ['a length in hexadecimal', answer('content-length: 0x1\r\n', 'a')],
    ['a length behind a no-break space', answer('content-length: \xa01\r\n', 'a')],
    ['an empty length', answer('content-length:\r\n')],
    ['a length beyond all', answer('content-length: 9999999999999999\r\n')],
    ['a length beside chunks', answer('content-length: 5\r\ntransfer-encoding: chunked\r\n', '0\r\n\r\n')],
    ['chunks beside a length', answer('transfer-encoding: chunked\r\ncontent-length: 5\r\n', '0\r\n\r\n')],
    ['another coding', answer('transfer-encoding: gzip, chunked\r\n')],
    ['chunks twice', answer('transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n')],
    ['an unknown coding', answer('transfer-encoding: xchunked\r\n')],
    ['chunks in HTTP/1.0', of('HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n')],
    ['a chunk without a length', chunks('\r\nab\r\n')],
    ['a chunk whose length is none', chunks('zz\r\nab\r\n')],
    ['a chunk of a negative length', chunks('-2\r\nab\r\n')],
    ['a chunk of a length in C', chunks('0x2\r\nab\r\n')],
    ['a chunk of too many digits', chunks('000000002\r\nab\r\n')],
    ['a chunk that is longer than it says', chunks('2\r\nabc\r\n')],
    ['a chunk that ends in a line feed', chunks('2\r\nab\n0\r\n\r\n')],
    ['a length of a chunk that ends in a line feed', chunks('2\nab\r\n')],
    ['a return without a feed', chunks('2\rab\r\n')],
    ['an extension with a line feed', chunks('2;a\nab\r\n')],
    ['an extension with a NUL', chunks('2;\0\r\nab\r\n')],
    ['an extension that is too long', chunks(`2;${long}`)],
    ['extensions that are too long together', chunks(`1;${'a'.repeat(4096)}\r\na\r\n`.repeat(5))],
    ['a trailer that is none', chunks('0\r\nab\r\n\r\n')],
    ['a trailer with a bare line feed', chunks('0\r\na: b\nc: d\r\n\r\n')],
    ['trailers that are too large', chunks(`0\r\na: ${long}`)],
  ])('%s', (_, bytes) => {
    const told = read([bytes], false);
    expect(told).toMatchObject({ ended: false, fault: 'protocol' });
    expect(
      read(
        [...bytes].map((byte) => Buffer.from([byte])),
        false,
      ),
    ).toEqual(told);
  });

  test.each<[string, Buffer]>([
    ['in the head', of('HTTP/1.1 200 OK\r\ncontent-')],
    ['before the head', of('')],
    ['after an interim answer', of(interim)],
    ['in the body', answer('content-length: 5\r\n', 'abcd')],
    ['in a chunk', chunks('2\r\na')],
    ['before the last chunk', chunks('2\r\nab\r\n')],
    ['before the end of the trailers', chunks('0\r\n')],
  ])('as closed when the connection ends %s', (_, bytes) => {
    expect(read([bytes], true)).toMatchObject({ ended: false, fault: 'closed' });
  });
});

test('16 interim answers pass', () => {
  expect(read([of(interim.repeat(16)), answer('content-length: 1\r\n', 'a')], false)).toMatchObject({
    body: 'a',
    ended: true,
  });
});
