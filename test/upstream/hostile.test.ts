// Lane: middle: it waits for times to pass
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { type Chunk, UpstreamError } from '../../src/data/upstream/port.ts';
import { event, recorded, recordedAnswer, recordedMessage, serveRaw, upstreamAt } from './mock.ts';
import { assemble, options, request } from './requests.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const upstreamTo = async (respond: (socket: Socket) => void, over: object = {}) => {
  const mock = await serveRaw(respond);
  const upstream = upstreamAt(mock.url, over);
  cleanups.push(
    () => mock.close(),
    () => upstream.close(),
  );
  return upstream;
};

const head = (type: string, more = '') => `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${more}\r\n`;
const sse = 'text/event-stream';
const sized = (type: string, body: string | Buffer) =>
  Buffer.concat([Buffer.from(head(type, `content-length: ${Buffer.byteLength(body)}\r\n`)), Buffer.from(body)]);

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return 'no error';
  } catch (error) {
    return error instanceof UpstreamError ? error.code : `not an UpstreamError: ${String(error)}`;
  }
};

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const opened = recorded.slice(0, 1).join('');
const toolUse = (fields: object) =>
  event('content_block_start', { index: 0, content_block: { type: 'tool_use', ...fields } });
const text = event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
const badUtf8 = Buffer.concat([Buffer.from(`${opened}data: "`), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from('"\n\n')]);

describe('a hostile stream', () => {
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['no events', '\n\n\n: only a comment\n\n'],
    ['garbage', Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 197) % 256))],
    ['bad UTF-8', badUtf8],
    ['truncated JSON', `${opened}data: {"type":"content_block_start","ind\n\n`],
    ['JSON that is no object', `${opened}data: [1]\n\ndata: null\n\n`],
    ['an end before the start', event('message_stop')],
    ['a block before the start', text],
    ['a second start', opened + opened],
    [
      'blocks that interleave',
      opened + text + event('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
    ],
    [
      'a delta without a block',
      opened + event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'x' } }),
    ],
    [
      'a delta for another block',
      opened + text + event('content_block_delta', { index: 7, delta: { type: 'text_delta', text: 'x' } }),
    ],
    [
      'a delta of another kind',
      opened +
        text +
        event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: 'x' } }),
    ],
    [
      'a delta that is no text',
      opened + text + event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: { a: 1 } } }),
    ],
    [
      'a delta for another block than the open one',
      recorded.join('').replace('{"type":"content_block_delta","index":3', '{"type":"content_block_delta","index":2'),
    ],
    ['an end with an open block', opened + text + event('message_stop')],
    ['no index', opened + event('content_block_start', { content_block: { type: 'text', text: '' } })],
    ['no block', opened + event('content_block_start', { index: 0 })],
    ['no type of block', opened + event('content_block_start', { index: 0, content_block: {} })],
    ['line ends in an id', opened + toolUse({ id: 'toolu_1\r\nset-cookie: a', name: 'a', input: {} })],
    ['a strange name', opened + toolUse({ id: 'toolu_1', name: '../../x', input: {} })],
    ['no id', opened + toolUse({ name: 'a', input: {} })],
    ['input that is a list', opened + toolUse({ id: 'toolu_1', name: 'a', input: [1] })],
    ['input that is too deep', opened + toolUse({ id: 't', name: 'a', input: {} }).replace('{}', nested(5000))],
    ['an early end', recorded.slice(0, -1).join('')],
    ['an end in the last event', recorded.join('').slice(0, -3)],
  ])('%s is provider_error', async (_, body) => {
    const upstream = await upstreamTo((socket) => socket.end(sized(sse, body)));
    expect(await codeOf(assemble(upstream.stream(request(), options())))).toBe('provider_error');
  });

  test.each<[string, Buffer]>([
    ['a page', sized('text/html', '<html>')],
    ['JSON', sized('application/json', JSON.stringify(recordedMessage))],
    [
      'gzip, unasked',
      Buffer.concat([Buffer.from(head(sse, 'content-encoding: gzip\r\n')), gzipSync(recorded.join(''))]),
    ],
    ['an encoding, unasked and untrue', Buffer.from(head(sse, 'content-encoding: br\r\n') + recorded.join(''))],
    ['not HTTP', Buffer.from('SSH-2.0-OpenSSH_9.9\r\n')],
    ['a bad chunk', Buffer.from(`${head(sse, 'transfer-encoding: chunked\r\n')}zz\r\nhello\r\n`)],
    ['two lengths', Buffer.from(head(sse, 'content-length: 5\r\ncontent-length: 6\r\n'))],
    ['endless headers', Buffer.from(head(sse, `x: ${'a'.repeat(100_000)}\r\n`))],
    ['a protocol switch', Buffer.from('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')],
    ['a length that is not reached', Buffer.from(`${head(sse, 'content-length: 100000\r\n')}${opened}`)],
  ])('%s is provider_error', async (_, response) => {
    const upstream = await upstreamTo((socket) => socket.end(response));
    expect(await codeOf(assemble(upstream.stream(request(), options())))).toBe('provider_error');
  });

  test.each<[string, Buffer]>([
    ['another media type', sized('text/plain', recorded.join(''))],
    ['no media type', Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${recorded.join('')}`)],
    ['no blank line at its end', sized(sse, recorded.join('').slice(0, -1))],
    ['no line end at its end', sized(sse, recorded.join('').slice(0, -2))],
  ])('%s is read, as the SDKs read it', async (_, response) => {
    const upstream = await upstreamTo((socket) => socket.end(response));
    const whole = await upstreamTo((socket) => socket.end(sized(sse, recorded.join(''))));
    expect(await assemble(upstream.stream(request(), options()))).toEqual(
      await assemble(whole.stream(request(), options())),
    );
  });

  test('a line of 100 MB is cut off after little more than the limit', async () => {
    let written = 0;
    const upstream = await upstreamTo((socket) => {
      const piece = Buffer.alloc(65_536, 'a');
      socket.write(`${head(sse)}data: `);
      const write = () => {
        while (written < 100e6 && !socket.destroyed) {
          written += piece.length;
          if (!socket.write(piece)) return void socket.once('drain', write);
        }
      };
      write();
    });
    expect(await codeOf(assemble(upstream.stream(request(), options())))).toBe('provider_error');
    expect(written).toBeLessThan(20e6);
  });

  test('a stall is provider_timeout, in the head, in the body and in the body of an error', async () => {
    for (const [begun, first_byte_timeout_ms, code] of [
      ['HTTP/1.1 2', 50, 'provider_timeout'],
      [`${head(sse)}${opened}`, 5000, 'provider_timeout'],
      ['HTTP/1.1 529 Overloaded\r\ncontent-length: 99\r\n\r\n{"error"', 5000, 'provider_overloaded'],
    ] as const) {
      const upstream = await upstreamTo((socket) => socket.write(begun), {
        idle_timeout_ms: 50,
        first_byte_timeout_ms,
      });
      expect(await codeOf(assemble(upstream.stream(request(), options())))).toBe(code);
    }
  });

  test('a head that comes byte by byte for ever is provider_timeout, and so are endless interim answers', async () => {
    const upstreams = [`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(10_000)}`, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(16)].map(
      (text) =>
        upstreamTo(
          (socket) => {
            let at = 0;
            const timer = setInterval(() => socket.write(text[at++] ?? ''), 2);
            socket.on('close', () => clearInterval(timer));
          },
          { first_byte_timeout_ms: 150, idle_timeout_ms: 50 },
        ),
    );
    for (const upstream of upstreams) {
      expect(await codeOf((await upstream).answer(request(), options()))).toBe('provider_timeout');
    }
  });

  test('an error whose body never ends is not waited for long', async () => {
    const upstream = await upstreamTo(
      (socket) => socket.write('HTTP/1.1 529 Overloaded\r\ncontent-length: 9\r\n\r\n{'),
      {
        idle_timeout_ms: 60_000,
      },
    );
    expect(await codeOf(upstream.answer(request(), options()))).toBe('provider_overloaded');
  });

  test('what comes after the end, or instead of it for long, is of no interest', async () => {
    const upstream = await upstreamTo((socket) =>
      socket.write(`${head(sse)}${recorded.join('')}data: x\n\n${'y'.repeat(200_000)}`),
    );
    expect(await assemble(upstream.stream(request(), options()))).toEqual(recordedAnswer);
  });

  test('cut off at any byte it is an error, and never a wrong answer', async () => {
    const body = recorded.join('');
    const chunked = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const whole = Buffer.from(head(sse, 'transfer-encoding: chunked\r\n') + chunked);
    const complete = whole.length - '\r\n0\r\n\r\n'.length;
    let cut = 0;
    const upstream = await upstreamTo((socket) => socket.write(whole.subarray(0, cut), () => socket.resetAndDestroy()));
    for (cut = 0; cut <= whole.length; cut += cut < 120 || cut > complete - 20 ? 1 : 7) {
      const chunks: Chunk[] = [];
      const work = (async () => {
        for await (const chunk of upstream.stream(request(), options())) chunks.push(chunk);
      })();
      const code = await codeOf(work);
      // A reset can overtake the bytes before it, so an answer is allowed to be missing at the very end.
      expect(cut < complete ? ['provider_error'] : ['provider_error', 'no error']).toContain(code);
      expect(chunks.some(({ type }) => type === 'end')).toBe(code === 'no error');
    }
  }, 20_000);

  test('one that is not read does not fill the memory, and its time stands still', async () => {
    let written = 0;
    const upstream = await upstreamTo(
      (socket) => {
        const delta = Buffer.from(
          event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'a'.repeat(8000) } }),
        );
        socket.write(`${head(sse)}${opened}${text}`);
        const write = () => {
          while (!socket.destroyed) {
            written += delta.length;
            if (!socket.write(delta)) return void socket.once('drain', write);
          }
        };
        write();
      },
      { idle_timeout_ms: 300 },
    );
    let read = 0;
    for await (const chunk of upstream.stream(request(), options())) {
      if (chunk.type !== 'block_delta') continue;
      read += 1;
      if (read === 1) {
        await new Promise((resolve) => setTimeout(resolve, 350));
        const before = written;
        await new Promise((resolve) => setTimeout(resolve, 150));
        expect(written).toBe(before);
      }
      if (read === 3000) break;
    }
    // The kernel's two buffers hold some megabytes; without a brake it would be hundreds.
    expect(written).toBeLessThan(3000 * 8100 + 30e6);
  });
});

describe('a hostile answer', () => {
  const message = (content: readonly unknown[]) => JSON.stringify({ ...recordedMessage, content });
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['garbage', Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 197) % 256))],
    ['truncated JSON', JSON.stringify(recordedMessage).slice(0, -1)],
    [
      'bad UTF-8',
      Buffer.concat([Buffer.from('{"type":"message","content":[],"x":"'), Buffer.from([0xff]), Buffer.from('"}')]),
    ],
    ['a list', '[]'],
    ['another object', '{"type":"error"}'],
    ['content that is no list', '{"type":"message","content":"x"}'],
    ['a block that is no object', message(['x'])],
    ['text that is no text', message([{ type: 'text', text: 5 }])],
    ['line ends in an id', message([{ type: 'tool_use', id: 'a\r\nb', name: 'a', input: {} }])],
    [
      'input that is too deep',
      `{"type":"message","content":[{"type":"tool_use","id":"a","name":"a","input":${nested(200_000)}}]}`,
    ],
    [
      'depth where nobody looks',
      `{"type":"message","content":[{"type":"text","text":7}],"x":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
    ],
  ])('%s is provider_error', async (_, body) => {
    const upstream = await upstreamTo((socket) => socket.end(sized('application/json', body)));
    expect(await codeOf(upstream.answer(request(), options()))).toBe('provider_error');
  });

  test('cut off at any byte it is an error, with a length and without', async () => {
    const body = JSON.stringify(recordedMessage);
    for (const whole of [sized('application/json', body), Buffer.from(head('application/json') + body)]) {
      let cut = 0;
      const upstream = await upstreamTo((socket) => socket.end(whole.subarray(0, cut)));
      for (cut = 0; cut < whole.length; cut += 5) {
        expect(await codeOf(upstream.answer(request(), options()))).toBe('provider_error');
      }
      cut = whole.length;
      expect(await upstream.answer(request(), options())).toEqual(recordedAnswer);
    }
  }, 20_000);

  test('a body without end is cut off at the limit', async () => {
    let written = 0;
    const upstream = await upstreamTo((socket) => {
      const piece = Buffer.alloc(1_048_576, ' ');
      socket.write(head('application/json'));
      const write = () => {
        while (written < 200e6 && !socket.destroyed) {
          written += piece.length;
          if (!socket.write(piece)) return void socket.once('drain', write);
        }
      };
      write();
    });
    expect(await codeOf(upstream.answer(request(), options()))).toBe('provider_error');
    expect(written).toBeLessThan(60e6);
  });

  test('an error with an endless body ends soon, with the status it began with', async () => {
    const upstream = await upstreamTo((socket) => {
      socket.write('HTTP/1.1 429 Slow Down\r\nretry-after: 9\r\n\r\n');
      const timer = setInterval(() => socket.write('x'.repeat(30_000)), 1);
      socket.on('close', () => clearInterval(timer));
    });
    await expect(upstream.answer(request(), options())).rejects.toMatchObject({
      code: 'provider_overloaded',
      retryAfterSeconds: 9,
    });
  });
});
