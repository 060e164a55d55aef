import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RawResult, send } from '../http/raw-client.ts';
import { archive, askForKey, call, createKey, createProject, freshKey, itemsOf, paths, use } from './calls.ts';
import { eventually, type Server, startServer } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let server: Server;
/** What every hostile request is about, and what one hidden inside another tries to archive. */
let project: string;
let victim: string;
let auth: string;
beforeAll(async () => {
  server = await startServer();
  project = await createProject(server, 'target');
  victim = await createProject(server, 'victim');
  auth = `Authorization: Bearer ${server.first.admin_api_key}\r\n`;
});
afterAll(() => server?.stop());

const body = '{"name":"x"}';
const host = 'Host: a\r\n';

/** A request up to its framing: archive takes no body, create takes one. */
const archiveHead = () => `POST ${paths.archive(project)} HTTP/1.1\r\n${host}${auth}`;
const createHead = () =>
  `POST ${paths.projectKeys(project)} HTTP/1.1\r\n${host}${auth}Idempotency-Key: ${freshKey()}\r\nContent-Type: application/json\r\n`;
/** A whole command where a body or a next request is expected. */
const hidden = () => `POST ${paths.archive(victim)} HTTP/1.1\r\n${host}${auth}Content-Length: 0\r\n\r\n`;
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Commands that the server has recorded: whatever appends an event shows here. */
const recorded = (): number => server.log().filter(({ msg }) => msg === 'command.recorded').length;
const failures = () => server.log().filter(({ msg }) => msg === 'request.failed');

/** What is there now: the events of the process and the objects that a hostile request could have touched. */
const look = async () => ({
  recorded: recorded(),
  keys: (await itemsOf(server, paths.projectKeys(project))).length,
  target: (await call(server, 'GET', paths.project(project))).body.status,
  victim: (await call(server, 'GET', paths.project(victim))).body.status,
});

/** Sends each case on a connection of its own and expects refusals alone: no success, no failure of the server. */
const expectNothing = async (cases: Readonly<Record<string, string>>): Promise<void> => {
  const before = await look();
  const outcomes = await Promise.all(
    Object.entries(cases).map(async ([name, bytes]) => ({ name, ...(await send(server.port, bytes)) })),
  );
  for (const { name, statuses, text } of outcomes) {
    const bad = statuses.filter((status) => status < 400 || (status >= 500 && status !== 505));
    expect(bad, `${name}: ${text}`).toEqual([]);
  }
  // Two commands of our own come behind whatever a hostile request might have set off, in the store and in the log.
  for (let i = 0; i < 2; i++) await createProject(server, 'behind it');
  await eventually(() => recorded() >= before.recorded + 2 || undefined);
  expect(await look()).toEqual({ ...before, recorded: before.recorded + 2 });
  expect(failures()).toEqual([]);
};

const lengths = ['+5', '-1', '0x5', '5, 5', '5;5', '5 5', '5.0', '5e0', 'five', '', '"5"', '0,', '٥', '9'.repeat(20)];
const codings = [
  'chunked',
  'Chunked',
  'gzip',
  'gzip, chunked',
  'chunked, gzip',
  'identity',
  'identity, chunked',
  'chunked, identity',
  'chunked, chunked',
  'chunked;q=1',
  ' "chunked"',
  'xchunked',
  'x chunked',
  ',chunked',
  '',
];

describe('a request whose end is in doubt has no effect', () => {
  test('where Content-Length is no length', () =>
    expectNothing(
      Object.fromEntries(
        lengths.flatMap((length) => [
          [`archive ${length}`, `${archiveHead()}Content-Length: ${length}\r\n\r\n`],
          [`create ${length}`, `${createHead()}Content-Length: ${length}\r\n\r\n${body}`],
        ]),
      ),
    ));

  test('where Transfer-Encoding is there at all', () =>
    expectNothing(
      Object.fromEntries(
        codings.flatMap((coding) => [
          [`archive ${coding}`, `${archiveHead()}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`],
          [`create ${coding}`, `${createHead()}Transfer-Encoding: ${coding}\r\n\r\n${chunk(body)}0\r\n\r\n`],
          [`hidden ${coding}`, `${createHead()}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n${hidden()}`],
        ]),
      ),
    ));

  test('where both are there, or one of them twice', () => {
    const both = `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`;
    return expectNothing({
      'equal lengths': `${archiveHead()}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`,
      'the smaller first': `${archiveHead()}Content-Length: 0\r\nContent-Length: ${hidden().length}\r\n\r\n${hidden()}`,
      'the larger first': `${archiveHead()}Content-Length: ${hidden().length}\r\nContent-Length: 0\r\n\r\n${hidden()}`,
      'twice on create': `${createHead()}Content-Length: ${body.length}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      'CL.TE': `${createHead()}${both}\r\n${chunk(body)}0\r\n\r\n${hidden()}`,
      'TE.CL': `${createHead()}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunk(hidden())}0\r\n\r\n`,
      'TE.TE': `${archiveHead()}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n${hidden()}`,
    });
  });

  test('where the chunks are not sound', () => {
    const chunked = () => `${createHead()}Transfer-Encoding: chunked\r\n\r\n`;
    return expectNothing({
      'an extension': `${chunked()}${body.length.toString(16)};a=1\r\n${body}\r\n0\r\n\r\n`,
      'an extension that hides a request': `${chunked()}5;a=${hidden()}`,
      'size G': `${chunked()}G\r\n${body}\r\n0\r\n\r\n`,
      'size 0x': `${chunked()}0xc\r\n${body}\r\n0\r\n\r\n`,
      'size -1': `${chunked()}-1\r\n${body}\r\n0\r\n\r\n`,
      'a giant size': `${chunked()}ffffffffffffffff\r\n${body}\r\n0\r\n\r\n`,
      'no end of line': `${chunked()}${body.length.toString(16)}\r\n${body}0\r\n\r\n`,
      'a trailer that is a request': `${chunked()}${chunk(body)}0\r\n${hidden()}`,
    });
  });

  test('where the lines of its head are not sound', () =>
    expectNothing({
      'a space before the colon': `${createHead()}Content-Length : ${body.length}\r\n\r\n${body}`,
      'a tab before the colon': `${archiveHead()}Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n`,
      'a folded header': `${archiveHead()}X-A: b\r\n c\r\n\r\n`,
      'a folded length': `${createHead()}Content-Length:\r\n ${body.length}\r\n\r\n${body}`,
      'a bare CR': `${archiveHead()}X-A: b\rContent-Length: 5\r\n\r\nhello`,
      'bare LF throughout': `${archiveHead().replaceAll('\r\n', '\n')}\n`,
      'NUL in a value': `${archiveHead()}X-A: b\0c\r\n\r\n`,
      'NUL in a name': `${archiveHead()}X\0A: b\r\n\r\n`,
      'a line without a colon': `${archiveHead()}Garbage\r\n\r\n`,
      'no Host': `${archiveHead().replace(host, '')}\r\n`,
      'Host twice': `${archiveHead()}${host}\r\n`,
      'HTTP/1.0': `${archiveHead().replace('HTTP/1.1', 'HTTP/1.0')}\r\n`,
      'HTTP/2.0': `${archiveHead().replace('HTTP/1.1', 'HTTP/2.0')}\r\n`,
      'no version': `${archiveHead().replace(' HTTP/1.1', '')}\r\n`,
      'absolute form': `${archiveHead().replace('/v1/', 'http://a/v1/')}\r\n`,
      'two spaces': `${archiveHead().replace('POST /', 'POST  /')}\r\n`,
      'a tab': `${archiveHead().replace('POST /', 'POST\t/')}\r\n`,
      'a method in lower case': `${archiveHead().replace('POST', 'post')}\r\n`,
      'too long a head': `${archiveHead()}X-A: ${'x'.repeat(20_000)}\r\n\r\n`,
      'too many headers': `${archiveHead()}${'X-A: b\r\n'.repeat(120)}\r\n`,
    }));

  test('where it ends too early', async () => {
    const create = `${createHead()}Content-Length: ${body.length}\r\n\r\n${body}`;
    const before = await look();
    const cuts = [20, create.length - body.length, create.length - 1];
    await Promise.all(cuts.map((at) => send(server.port, create.slice(0, at), { quietMs: 50 })));
    await Promise.all([1, 40].map((missing) => send(server.port, archiveHead().slice(0, -missing), { quietMs: 50 })));
    expect(await look()).toEqual(before);
  });

  test('and a sound one has its effect, so that the checks above prove something', async () => {
    const before = await look();
    const sound = `${createHead()}Content-Length: ${body.length}\r\n\r\n${body}`;
    expect((await send(server.port, sound, { answers: 1 })).statuses).toEqual([201]);
    const after = await look();
    expect(after.keys).toBe(before.keys + 1);
    // Reserved, admitted, made, completed.
    await eventually(() => recorded() >= before.recorded + 4 || undefined);
    const other = await createProject(server);
    expect((await archive(server, other)).status).toBe(200);
    await eventually(() => recorded() >= before.recorded + 6 || undefined);
  });
});

describe('a credential or key in doubt is refused', () => {
  const framed = `Content-Length: ${body.length}\r\n\r\n${body}`;

  test('where a header that decides something comes twice', () => {
    const type = 'Content-Type: application/json\r\n';
    return expectNothing({
      'Authorization twice': `${archiveHead()}${auth}\r\n`,
      'Authorization twice, the second bad': `${archiveHead()}Authorization: Bearer x\r\n\r\n`,
      'Idempotency-Key twice': `${createHead()}Idempotency-Key: 12345678\r\n${framed}`,
      'Content-Type twice': `${createHead()}${type}${framed}`,
      'x-api-key twice': `${archiveHead()}X-Api-Key: a\r\nX-Api-Key: b\r\n\r\n`,
    });
  });

  test('whatever byte is put into a header that decides something', async () => {
    const token = server.first.admin_api_key;
    const cases: Record<string, string> = {};
    for (let byte = 0; byte < 256; byte++) {
      const odd = String.fromCharCode(byte);
      const inToken = `Authorization: Bearer ${token}${odd}x\r\n`;
      cases[`token ${byte}`] = `${archiveHead().replace(auth, inToken)}\r\n`;
      if (byte < 0x21 || byte > 0x7e) {
        const key = `Idempotency-Key: key${odd}${freshKey()}\r\n`;
        cases[`key ${byte}`] = `${createHead().replace(/Idempotency-Key: .*\r\n/, key)}${framed}`;
      }
    }
    await expectNothing(cases);
    // The core trims what is above ASCII from the ends of a value before anybody sees it.
    const ends = [0x00, 0x01, 0x0b, 0x7f, 0x80, 0x85, 0xa0, 0xff].map(async (byte) => {
      const head = `GET ${paths.projects}?limit=1 HTTP/1.1\r\n${host}${auth.trimEnd()}${String.fromCharCode(byte)}\r\n\r\n`;
      const { statuses } = await send(server.port, head, { answers: 1, quietMs: 2000 });
      return [byte, statuses[0]] as const;
    });
    for (const [byte, status] of await Promise.all(ends))
      expect(byte < 0x80 ? [400, 401] : [200, 400, 401], `a final byte ${byte}`).toContain(status);
  });

  test('and no answer carries a header line that a request has made up', async () => {
    const split = ['%0d%0aX-Evil:%20yes', '%0aX-Evil:%20yes', '%E5%98%8D%E5%98%8AX-Evil:%20yes'];
    for (const id of split) {
      for (const line of [
        `GET ${paths.project(id)}`,
        `GET ${paths.projects}?after=${id}`,
        `GET ${paths.adminKey(id)}`,
      ]) {
        const { answers } = await send(server.port, `${line} HTTP/1.1\r\n${host}${auth}\r\n`, { answers: 1 });
        for (const { headers, status } of answers) {
          expect(status).toBeGreaterThanOrEqual(400);
          expect([...headers.keys()].join()).not.toMatch(/evil/i);
        }
      }
    }
  });
});

test('another spelling of a path is another path', () => {
  const at = (path: string) => `POST ${path} HTTP/1.1\r\n${host}${auth}\r\n`;
  const id = project;
  const spellings = [
    `//v1/organization/projects/${id}/archive`,
    `/v1//organization/projects/${id}/archive`,
    `/v1/./organization/projects/${id}/archive`,
    `/v1/x/../organization/projects/${id}/archive`,
    `/v1/organization/projects/${id}/archive/`,
    `/v1/organization/projects/${id}/archive;x`,
    `/v1/organization/projects/${id}/archive%20`,
    `/v1/organization/projects/${id}%2farchive`,
    `/v1/organization/projects/${id}/%61rchive`,
    `/v1/organization/projects/${id}/Archive`,
    `/V1/organization/projects/${id}/archive`,
    `/v1/organization%2fprojects/${id}/archive`,
    `/v1/organization/projects/${id}%00/archive`,
    `/v1/organization/projects/${id}%0a/archive`,
    `/v1/organization/projects/%2e%2e/${id}/archive`,
    `/v1/organization/projects/../projects/${id}/archive`,
    `/v1/organization/projects/${id}%c0%af/archive`,
    `/v1/organization/projects/${id}%252farchive`,
    `/v1/organization/projects/${id.toUpperCase()}/archive`,
    `/v1/organization/projects/ ${id}/archive`,
    `\\v1\\organization\\projects\\${id}\\archive`,
  ];
  return expectNothing(Object.fromEntries(spellings.map((path) => [path, at(path)])));
});

test('a sound request is the same however it is cut into pieces', async () => {
  const before = await look();
  const cut = async (pieces: (bytes: Buffer) => Buffer[]): Promise<RawResult> => {
    const bytes = Buffer.from(`${createHead()}Content-Length: ${body.length}\r\n\r\n${body}`, 'latin1');
    return send(server.port, '', { pieces: pieces(bytes), answers: 1, quietMs: 5000 });
  };
  const length = createHead().length;
  const ways = [
    (bytes: Buffer) => [...bytes].map((_, i) => bytes.subarray(i, i + 1)),
    ...[1, 17, length >> 1, length, length + 20].map((at) => (bytes: Buffer) => [
      bytes.subarray(0, at),
      bytes.subarray(at),
    ]),
  ];
  for (const { statuses, text } of await Promise.all(ways.map(cut))) expect(statuses, text).toEqual([201]);
  expect((await look()).keys).toBe(before.keys + ways.length);
});

test('no damage to a request makes the server fail, and what is answered with 201 is there', async () => {
  const target = await createProject(server, 'fuzzed');
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    remove: fc.nat({ max: 3 }),
    insert: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom(
        '\r\n',
        '\n',
        ':',
        ' ',
        '\0',
        '\u00ff',
        '"',
        '{',
        'Content-Length: 5\r\n',
        'Transfer-Encoding: chunked\r\n',
      ),
    ),
  });
  let made = 0;
  const property = fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
    let text = `POST ${paths.projectKeys(target)} HTTP/1.1\r\n${host}${auth}Idempotency-Key: ${freshKey()}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    for (const { at, remove, insert } of edits) {
      const place = Math.floor(at * text.length);
      text = text.slice(0, place) + insert + text.slice(place + remove);
    }
    const { statuses } = await send(server.port, text, { answers: 1, quietMs: 40 });
    made += statuses.filter((status) => status === 201).length;
    expect(statuses.filter((status) => status >= 500 && status !== 505)).toEqual([]);
  });
  await fc.assert(property, { numRuns: 200, endOnFailure: true });
  // Answers may be slower than the patience above: what was made late is counted by the server's own word.
  const keys = await itemsOf(server, paths.projectKeys(target));
  expect(keys.length).toBeGreaterThanOrEqual(made);
  for (const { name } of keys) expect(typeof name).toBe('string');
  expect(failures()).toEqual([]);
  expect(await use(server, server.first.project_api_key)).toBe('200');
});

test('clients that hang up at any moment leave the server as it was', async () => {
  const target = await createProject(server, 'left alone');
  const requests = [
    () => `${createHead().replace(project, target)}Content-Length: ${body.length}\r\n\r\n${body}`,
    () => `GET ${paths.projects}?limit=100 HTTP/1.1\r\n${host}${auth}\r\n`,
    () => `POST ${paths.archive(target)} HTTP/1.1\r\n${host}${auth}Content-Length: 2\r\n\r\n{`,
  ];
  const hangUp = (bytes: string, afterMs: number): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write(bytes);
        setTimeout(() => socket.resetAndDestroy(), afterMs);
      });
      socket.on('error', () => {});
      socket.once('close', () => resolve());
    });
  await Promise.all(Array.from({ length: 120 }, (_, i) => hangUp(requests[i % requests.length]!(), Math.floor(i / 3))));
  expect((await call(server, 'GET', paths.project(target))).body.status).toBe('active');
  const answered = await askForKey(server, target);
  expect(answered.status).toBe(201);
  const keys = await itemsOf(server, paths.projectKeys(target));
  expect(keys.length).toBeLessThanOrEqual(41);
  expect(new Set(keys.map(({ id }) => id)).size).toBe(keys.length);
  const { value } = await createKey(server, target);
  expect(await use(server, value)).toBe('200');
  expect(failures()).toEqual([]);
});
