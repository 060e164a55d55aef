import { chunkCases } from './chunk-cases.ts';
import { type FramingCase, grammarCases } from './grammar-cases.ts';
import { credential } from './service.ts';

const archive = 'POST /v1/organization/things/t1/archive HTTP/1.1\r\nHost: a\r\n';
const auth = `${credential}\r\n`;
const admin = `${archive}${auth}`;
const messages = `POST /v1/messages HTTP/1.1\r\nHost: a\r\n${auth}Content-Type: application/json\r\n`;
const body = '{"model":"m"}';
const create = `POST /v1/organization/things HTTP/1.1\r\nHost: a\r\n${auth}Idempotency-Key: 12345678\r\nContent-Type: application/json\r\n`;
const thing = '{"name":"x"}';
const webSocket =
  'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
/** A whole command hidden where a body is expected. */
const hidden =
  'POST /v1/organization/things/hidden/archive HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Length: 0\r\n\r\n';
const hex = (text: string): string => text.length.toString(16);
const chunk = (text: string): string => `${hex(text)}\r\n${text}\r\n`;
const chunkedBody = `${chunk(body)}0\r\n\r\n`;

const lengths = (values: readonly string[]): FramingCase[] =>
  values.map((value) => ({
    name: `Content-Length ${JSON.stringify(value)}`,
    bytes: `${admin}Content-Length:${value}\r\n\r\n`,
    answers: [400],
  }));

const codings = (values: readonly string[]): FramingCase[] =>
  values.map((value) => ({
    name: `Transfer-Encoding ${JSON.stringify(value)} on messages`,
    bytes: `${messages}Transfer-Encoding:${value}\r\n\r\n${chunkedBody}`,
    answers: [400],
  }));

export const smugglingCases: readonly FramingCase[] = [
  ...lengths([
    ' +5',
    ' -1',
    ' 0x5',
    ' 5, 5',
    ' 5,6',
    ' 5;5',
    ' 5 5',
    ' 5.0',
    ' 5e0',
    ' five',
    '',
    '  ',
    ' "5"',
    ' 0,',
    ' 99999999999999999999',
    ' 18446744073709551616',
    ' 4294967296999999999',
    ' ٥',
    ' 5_0',
    " '0'",
  ]),
  ...codings([
    ' Chunked',
    ' CHUNKED',
    ' gzip',
    ' gzip, chunked',
    ' chunked, gzip',
    ' identity',
    ' identity, chunked',
    ' chunked, identity',
    ' chunked, chunked',
    ' chunked;q=1',
    ' "chunked"',
    ' xchunked',
    ' chunkedx',
    ' x chunked',
    ' ,chunked',
    ' chunked,',
    ' cow',
    '',
  ]),
  {
    name: 'Content-Length twice, equal',
    bytes: `${admin}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`,
    answers: [400],
  },
  {
    name: 'Content-Length twice, different',
    bytes: `${admin}Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    answers: [],
  },
  {
    name: 'Content-Length twice, the larger first',
    bytes: `${admin}Content-Length: ${hidden.length}\r\nContent-Length: 0\r\n\r\n${hidden}`,
    answers: [400],
  },
  {
    name: 'Transfer-Encoding twice',
    bytes: `${messages}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
    answers: [400],
  },
  {
    name: 'Transfer-Encoding twice, the first unknown',
    bytes: `${messages}Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
    answers: [400],
  },
  {
    name: 'Transfer-Encoding twice, the second unknown',
    bytes: `${messages}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n${chunkedBody}`,
    answers: [400],
  },
  {
    name: 'Content-Length and Transfer-Encoding (CL.TE)',
    bytes: `${messages}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG`,
    answers: [400],
  },
  {
    name: 'Transfer-Encoding and Content-Length (TE.CL)',
    bytes: `${messages}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunk(hidden)}0\r\n\r\n`,
    answers: [400],
  },
  {
    name: 'both, the coding unknown',
    bytes: `${messages}Content-Length: 0\r\nTransfer-Encoding: xchunked\r\n\r\n`,
    answers: [400],
  },
  {
    name: 'Transfer-Encoding with a space before the colon',
    bytes: `${messages}Transfer-Encoding : chunked\r\n\r\n${chunkedBody}`,
    answers: [400],
  },
  {
    name: 'Content-Length with a space before the colon',
    bytes: `${admin}Content-Length : 5\r\n\r\nhello`,
    answers: [400],
  },
  {
    name: 'Transfer-Encoding with a tab before the colon',
    bytes: `${messages}Transfer-Encoding\t: chunked\r\n\r\n${chunkedBody}`,
    answers: [400],
  },
  {
    name: 'Transfer-Encoding folded over two lines',
    bytes: `${messages}Transfer-Encoding:\r\n chunked\r\n\r\n${chunkedBody}`,
    answers: [400],
  },
  ...grammarCases,
  ...chunkCases,
  {
    name: 'a length that swallows the next request',
    bytes: `${messages}Content-Length: ${body.length + hidden.length}\r\n\r\n${body}${hidden}`,
    answers: [400, 200],
    marked: true,
  },
  { name: 'a length that is too short', bytes: `${messages}Content-Length: 5\r\n\r\n${body}`, answers: [400, 405] },
  { name: 'a body on a command without a length', bytes: `${admin}\r\n${hidden}`, answers: [] },
  {
    name: 'a body on GET, with a length',
    bytes: `GET /v1/models HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
    answers: [200, 200],
    marked: true,
  },
  {
    name: 'a body on HEAD, with a length',
    bytes: `HEAD /v1/models HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
    answers: [200, 200],
    marked: true,
  },
  {
    name: 'a body on an unknown route',
    bytes: `POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    answers: [404, 200],
    marked: true,
  },
  {
    name: 'a body without a credential',
    bytes: `${archive}Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
    answers: [401, 200],
    marked: true,
  },
  {
    name: 'leading zeros in Content-Length',
    bytes: `${create}Content-Length: 000${thing.length}\r\n\r\n${thing}`,
    answers: [201, 200],
    effects: 1,
    marked: true,
  },
  {
    name: 'whitespace around Content-Length',
    bytes: `${create}Content-Length:\t ${thing.length} \t\r\n\r\n${thing}`,
    answers: [201, 200],
    effects: 1,
    marked: true,
  },
  {
    name: 'a nameless header that hides a length',
    bytes: `${admin}: v\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    answers: [],
  },
  {
    name: 'an Upgrade to HTTP/2',
    bytes: `GET /v1/models HTTP/1.1\r\nHost: a\r\n${auth}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
    answers: [200, 200],
    marked: true,
  },
  {
    name: 'an Upgrade to a WebSocket',
    bytes: `GET /v1/models HTTP/1.1\r\nHost: a\r\n${auth}${webSocket}\r\n`,
    answers: [200, 200],
    marked: true,
  },
  {
    name: 'an Upgrade to a WebSocket on a command',
    bytes: `${create}${webSocket}Content-Length: ${thing.length}\r\n\r\n${thing}`,
    answers: [201, 200],
    effects: 1,
    marked: true,
  },
  {
    name: 'an Upgrade to a WebSocket on an unknown path',
    bytes: `GET /v1/nowhere HTTP/1.1\r\nHost: a\r\n${webSocket}\r\n`,
    answers: [404, 200],
    marked: true,
  },
  {
    name: 'Connection names Content-Length',
    bytes: `${create}Connection: content-length\r\nContent-Length: ${thing.length}\r\n\r\n${thing}`,
    answers: [201, 200],
    effects: 1,
    marked: true,
  },
  {
    name: 'underscores instead of dashes',
    bytes: `${admin}Content_Length: ${hidden.length}\r\n\r\n${hidden}`,
    answers: [],
  },
];

/** What follows each case on its connection. */
export const marker = 'GET /v1/marker HTTP/1.1\r\nHost: a\r\n\r\n';
