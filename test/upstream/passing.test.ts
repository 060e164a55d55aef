import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { PassedEvents } from '../../src/data/upstream/port.ts';
import { apiKey, event, type Mock, recorded, serve, upstreamAt } from './mock.ts';

/** The events of an upstream that pass to the client as they are (contract L.1). */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000 });

let mock: Mock | null = null;
afterEach(async () => {
  await mock?.close();
  mock = null;
});

const request = { body: Buffer.from('{}'), id: 'msg_ours', model: 'ours', headers: {} };
const options = () => ({ signal: new AbortController().signal, requestId: 'req_1' });

const piecesOf = async (write: (response: ServerResponse) => void) => {
  mock = await serve((incoming, response) => {
    incoming.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    write(response);
  });
  const pieces: PassedEvents[] = [];
  let failure: unknown = null;
  try {
    for await (const piece of upstreamAt(mock.url).passing!.messages!.stream(request, options())) pieces.push(piece);
  } catch (error) {
    failure = error;
  }
  await mock.close();
  mock = null;
  return { pieces, failure, text: Buffer.concat(pieces.map(({ events }) => events)).toString() };
};

const [start = '', ...rest] = recorded;
const output = 'Gates, then água 😀{"query":"x"}The weir é aqui 😀.{"gate": 3}';

describe('events pass as they came', () => {
  test('however they are cut and their lines end', async () => {
    const odd = [': a comment\n\n', 'id: 7\n\n', event('unheard_of', { of: 1.5 }), 'data: {"type":"ping"}\n\n'];
    const stream = [start, odd[0]!, ...rest.slice(0, 4), odd[1]!, odd[2]!, odd[3]!, ...rest.slice(4)];
    const expected = [...rest.slice(0, 4), odd[2]!, odd[3]!, ...rest.slice(4)].join('');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 30 }),
        async (lineEnd, sizes) => {
          const bytes = Buffer.from(stream.join('').replaceAll('\n', lineEnd));
          const { pieces, failure, text } = await piecesOf(async (response) => {
            for (let at = 0, turn = 0; at < bytes.length; turn++) {
              const end = at + sizes[turn % sizes.length]!;
              response.write(bytes.subarray(at, end));
              at = end;
              await new Promise((resolve) => setImmediate(resolve));
            }
            response.end();
          });
          expect(failure).toBeNull();
          expect(text).toBe(expected);
          expect(JSON.parse(pieces[0]!.start!.toString().split('data: ')[1]!)).toEqual({
            ...JSON.parse(start.split('data: ')[1]!),
            message: { ...JSON.parse(start.split('data: ')[1]!).message, id: 'msg_ours', model: 'ours' },
          });
          expect(pieces.slice(1).every((piece) => piece.start === null)).toBe(true);
          expect(pieces.map(({ ended }) => ended)).toEqual(pieces.map((_, at) => at === pieces.length - 1));
          expect(pieces.at(-1)).toMatchObject({ outputBytes: Buffer.byteLength(output), ended: true });
        },
      ),
      { numRuns: 40 },
    );
  });

  test.each<[string, string, number]>([
    ['plain', 'abc', 3],
    ['of two bytes', 'éé', 4],
    ['escaped', 'a"\\\n\u0007', 5],
    ['with what looks like the end', '"}}\n\n', 5],
    ['empty', '', 0],
  ])('text that is %s is counted as what it says', async (_, text, bytes) => {
    const frames = [
      start,
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      `event: content_block_delta\ndata: {"delta" : {"text": ${JSON.stringify(text)}, "type":"text_delta"},"type":"content_block_delta"}\n\n`,
      event('message_stop'),
    ];
    const { pieces } = await piecesOf((response) => response.end(frames.join('')));
    expect(pieces.at(-1)!.outputBytes).toBe(2 * bytes);
  });

  test('usage is what was told last', async () => {
    const { pieces } = await piecesOf((response) => response.end(recorded.join('')));
    expect(pieces.at(-1)!.usage).toMatchObject({ input_tokens: 21, cache_read_input_tokens: 4 });
    expect(pieces.at(-1)!.usage.output_tokens).toBeGreaterThan(1);
  });
});

describe('what goes wrong', () => {
  test.each<[string, string[], string]>([
    ['an end before the message ends', [start, rest[0]!], 'provider_error'],
    ['nothing at all', [], 'provider_error'],
    ['an event before the message', [rest[0]!], 'provider_error'],
    ['a second message', [start, rest[0]!, start], 'provider_error'],
    ['no JSON', [start, 'event: x\ndata: {\n\n'], 'provider_error'],
    ['no UTF-8', [start, 'event: x\ndata: "\xff"\n\n'], 'provider_error'],
    [
      'an error',
      [start, event('error', { error: { type: 'overloaded_error', message: `x ${apiKey}` } })],
      'provider_overloaded',
    ],
    ['an event above the limit', [start, `data: "${'x'.repeat(1_100_000)}`], 'provider_error'],
  ])('%s', async (_, frames, code) => {
    const { failure } = await piecesOf((response) => response.end(Buffer.from(frames.join(''), 'latin1')));
    expect(failure).toMatchObject({ code });
    expect(String((failure as Error).message) + String((failure as Error).cause)).not.toContain(apiKey);
  });

  test('what came before a failure in the same piece is passed on', async () => {
    const failing = [start, rest[0]!, event('error', { error: { type: 'api_error', message: 'x' } })];
    const { text, failure } = await piecesOf((response) => response.end(failing.join('')));
    expect([text, failure]).toMatchObject([rest[0]!, { code: 'provider_error' }]);
  });

  test('what follows the end is not passed on', async () => {
    const { text, failure } = await piecesOf((response) => response.end([...recorded, event('error', {})].join('')));
    expect([text, failure]).toEqual([rest.join(''), null]);
  });
});
