// Lane: middle: it starts the reader of a pipe
import { execFileSync, spawn } from 'node:child_process';
import fs, { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test, vi } from 'vitest';
import type { Endpoint } from '../../src/http/routing/endpoint.ts';
import { type LogOptions, openLog } from '../../src/observability/log/log.ts';
import { pretty } from '../../src/observability/log/pretty.ts';
import type { Finished } from '../../src/observability/requests/observation.ts';
import { publish } from '../../src/telemetry.ts';

const dir = mkdtempSync(join(tmpdir(), 'weir-log-'));
afterAll(() => rmSync(dir, { recursive: true }));

let files = 0;
const logged = (over: Partial<LogOptions> = {}) => {
  const file = join(dir, `${files++}.log`);
  const fd = openSync(file, 'w');
  const log = openLog({ level: 'info', format: 'json', accessShare: 0, fd, ...over });
  return {
    log,
    /** Ends the log. @returns its lines */
    async lines(): Promise<string[]> {
      expect(await log.close()).toBe('written');
      return readFileSync(file, 'utf8').split('\n').slice(0, -1);
    },
  };
};

const request: Finished = {
  requestId: 'req_1',
  method: 'POST',
  target: { path: '/v1/messages' } as Endpoint,
  status: 200,
  durationMs: 12.3456,
  keyId: 'key_1',
  model: 'm',
  overheadMs: 1,
  asked: {
    metered: {
      requestId: 'req_1',
      model: 'm',
      api: 'messages',
      estimatedTokens: 1,
      images: 0,
      searches: 0,
      maxTokens: 1,
      longest: 1,
    },
    status: 200,
    durationMs: 11.001,
    firstPieceMs: 3,
    tokens: { input: 5, output: 20, cacheCreation: 1, cacheRead: 2 },
  },
};

describe('the log', () => {
  test('is an object a line for machines: what goes wrong is an error, what an operator should look into a warning', async () => {
    const { log, lines } = logged();
    log.info({ base_url: 'http://127.0.0.1:1' }, 'listening');
    publish('request.failed', { requestId: 'req_1', error: new Error('broken') });
    publish('upstream.opened', { model: 'm', upstream: 'u', reason: 'it failed' });
    publish('upstream.closed', { model: 'm', upstream: 'u' });
    const [listening, failed, opened, closed] = (await lines()).map(
      (line) => JSON.parse(line) as Record<string, unknown>,
    );
    expect(listening).toMatchObject({ level: 30, msg: 'listening', base_url: 'http://127.0.0.1:1' });
    expect(failed).toMatchObject({ level: 50, msg: 'request.failed', requestId: 'req_1', err: { message: 'broken' } });
    expect(opened).toMatchObject({ level: 40, msg: 'upstream.opened', model: 'm', upstream: 'u' });
    expect(closed).toMatchObject({ level: 30, msg: 'upstream.closed' });
  });

  test('tells at its end what has been said again', async () => {
    const { lines } = logged();
    for (let n = 0; n < 5; n++) publish('store.away', { reason: 'no leader', forMs: n * 1_000 });
    const said = (await lines()).map((line) => JSON.parse(line) as { msg: string; repeated?: number });
    expect(said.map(({ msg, repeated }) => [msg, repeated])).toEqual([
      ['store.away', undefined],
      ['store.away', 4],
    ]);
  });

  test('is silent below its level, and after its end', async () => {
    const { log, lines } = logged({ level: 'error', accessShare: 1 });
    log.info({}, 'listening');
    log.access!(request);
    publish('upstream.opened', { model: 'm', upstream: 'u', reason: 'it failed' });
    expect(await lines()).toEqual([]);
    publish('request.failed', { requestId: 'req_1', error: new Error('late') });
  });

  test('throws lines away while nobody reads the ones before, and says how many', async () => {
    const fifo = join(dir, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const keeper = openSync(fifo, constants.O_RDWR);
    const log = openLog({ level: 'info', format: 'json', accessShare: 0, fd: openSync(fifo, constants.O_WRONLY) });
    const long = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 20; n++) log.info({ n, long }, 'listening');
    const { dropped } = log;
    expect(dropped).toBeGreaterThan(0);
    expect(dropped).toBeLessThan(10);
    const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'ignore'] });
    const read = text(reader.stdout);
    expect(await log.close()).toBe('written');
    closeSync(keeper);
    const lines = (await read).split('\n').slice(0, -1);
    expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual(
      Array.from({ length: 20 - dropped }, (_, n) => n),
    );
  });

  test('that cannot be written loses no line that there is room for, and is written as soon as it can be', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    const writing = vi.spyOn(fs, 'write').mockImplementation(((...call: unknown[]) => {
      process.nextTick(call.at(-1) as (error: Error) => void, full);
    }) as typeof fs.write);
    const file = join(dir, 'full.log');
    const log = openLog({ level: 'info', format: 'json', accessShare: 0, fd: openSync(file, 'w') });
    const long = 'x'.repeat(1024 * 1024);
    // No line behind these is taken, so none has what waits written.
    for (let n = 0; n < 20; n++) log.info({ n, long }, 'listening');
    const { dropped } = log;
    expect(dropped).toBeGreaterThan(0);
    await vi.waitFor(() => expect(writing.mock.calls.length).toBeGreaterThan(1), 10_000);
    writing.mockRestore();
    const written = (): number[] =>
      readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { n: number }).n);
    const kept = Array.from({ length: 20 - dropped }, (_, n) => n);
    await vi.waitFor(() => expect(written()).toEqual(kept), 10_000);
    expect(await log.close()).toBe('written');
  });
});

describe('the access log', () => {
  const access = async (share: number, requests: readonly Finished[]): Promise<Record<string, unknown>[]> => {
    const { log, lines } = logged({ accessShare: share });
    for (const each of requests) log.access?.(each);
    return (await lines()).map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  test('has of a request what is known of it and nothing else', async () => {
    const unknown: Finished = {
      ...request,
      target: undefined,
      keyId: undefined,
      model: undefined,
      asked: undefined,
      status: 404,
    };
    const [line, other] = await access(1, [request, unknown]);
    const { pid: _, hostname: __, time: ___, ...rest } = line!;
    expect(rest).toEqual({
      level: 30,
      msg: 'request',
      request_id: 'req_1',
      key_id: 'key_1',
      method: 'POST',
      route: '/v1/messages',
      status: 200,
      model: 'm',
      input_tokens: 8,
      output_tokens: 20,
      ms: 12.35,
      upstream_ms: 11,
    });
    expect(Object.keys(other!).sort()).toEqual([
      'hostname',
      'level',
      'ms',
      'msg',
      'pid',
      'request_id',
      'status',
      'time',
    ]);
  });

  test('is off, on, or a part', async () => {
    const many = Array.from({ length: 2_000 }, () => request);
    expect(await access(0, many)).toHaveLength(0);
    expect(await access(1, many)).toHaveLength(2_000);
    // Six deviations of a binomial distribution, either way.
    const part = (await access(0.25, many)).length;
    expect(part).toBeGreaterThan(500 - 6 * Math.sqrt(375));
    expect(part).toBeLessThan(500 + 6 * Math.sqrt(375));
  });
});

describe('a line for people', () => {
  const line = (fields: object): string =>
    JSON.stringify({ level: 40, time: 0, pid: 1, hostname: 'h', msg: 'store.away', ...fields });

  test('has its time, its level, its words and its fields', () => {
    const text = pretty(line({ reason: 'no leader', n: 3, at: 'http://127.0.0.1:1' }), false);
    expect(text).toMatch(/^\d\d:\d\d:\d\d WARN {2}store\.away reason="no leader" n=3 at=http:\/\/127\.0\.0\.1:1\n$/);
  });

  test('has the stack of an error below', () => {
    const text = pretty(line({ level: 50, err: { message: 'a', stack: 'Error: a\n    at b' } }), false);
    expect(text.split('\n').slice(1)).toEqual(['    Error: a', '        at b', '']);
  });

  test('has colors for a terminal alone, and nothing that a terminal would obey', () => {
    const hostile = '\u001b]0;title\u0007 \u009b2J \u202e';
    const fields = { msg: `m${hostile}`, reason: hostile, [`k${hostile}`]: 'v', err: { stack: hostile } };
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is looked for.
    const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;
    expect(pretty(line(fields), false)).not.toMatch(obeyed);
    const colors = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g');
    const colored = pretty(line(fields), true);
    expect(colored).toMatch(colors);
    expect(colored.replace(colors, '')).not.toMatch(obeyed);
  });

  test('in a log is one of the same', async () => {
    const { log, lines } = logged({ format: 'pretty' });
    log.info({ base_url: 'http://127.0.0.1:1' }, 'listening');
    const [text] = await lines();
    expect(text).toMatch(/^\d\d:\d\d:\d\d INFO {2}listening base_url=http:\/\/127\.0\.0\.1:1$/);
  });
});
