import type { FramingCase } from './grammar-cases.ts';
import { credential } from './service.ts';

const archive = 'POST /v1/organization/things/t1/archive HTTP/1.1\r\nHost: a\r\n';
const auth = `${credential}\r\n`;
const admin = `${archive}${auth}`;
const messages = `POST /v1/messages HTTP/1.1\r\nHost: a\r\n${auth}Content-Type: application/json\r\n`;
const body = '{"model":"m"}';
/** A whole command hidden where a body is expected. */
const hidden =
  'POST /v1/organization/things/hidden/archive HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Length: 0\r\n\r\n';
const hex = (text: string): string => text.length.toString(16);
const chunk = (text: string): string => `${hex(text)}\r\n${text}\r\n`;
const chunkedBody = `${chunk(body)}0\r\n\r\n`;

/** Chunked requests: sound ones, and those that the pinned core mis-reads (F10). */
export const chunkCases: readonly FramingCase[] = [
  {
    name: 'a chunked command',
    bytes: `${admin}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    answers: [411],
    joined: [],
  },
  {
    name: 'a chunked command with a hidden one',
    bytes: `${admin}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    answers: [],
  },
  {
    name: 'a chunked message',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
    answers: [200],
    joined: [],
    effects: 1,
    joinedEffects: 0,
  },
  {
    name: 'a chunk extension',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n${hex(body)};a=1\r\n${body}\r\n0\r\n\r\n`,
    answers: [],
  },
  {
    name: 'a chunk extension that hides a request',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n5;a=${hidden}`,
    answers: [400],
  },
  {
    name: 'chunk size G',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\nG\r\n${body}\r\n0\r\n\r\n`,
    answers: [400],
    joined: [],
  },
  {
    name: 'chunk size :',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n:\r\n${body}\r\n0\r\n\r\n`,
    answers: [400],
  },
  {
    name: 'chunk size 0x',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n0xd\r\n${body}\r\n0\r\n\r\n`,
    answers: [400],
  },
  {
    name: 'chunk size -1',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n-1\r\n${body}\r\n0\r\n\r\n`,
    answers: [400],
  },
  {
    name: 'chunk size ffffffffffffffff',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n${body}\r\n0\r\n\r\n`,
    answers: [400],
  },
  {
    name: 'no CRLF after a chunk',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n${hex(body)}\r\n${body}0\r\n\r\n`,
    answers: [200],
    joined: [],
    effects: 1,
    joinedEffects: 0,
  },
  {
    name: 'a trailer',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n${chunk(body)}0\r\nX-T: v\r\n\r\n`,
    answers: [505],
  },
  {
    name: 'a trailer that is a request',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n${chunk(body)}0\r\n${hidden}`,
    answers: [],
  },
  {
    name: 'a request after a chunked one',
    bytes: `${messages}Transfer-Encoding: chunked\r\n\r\n${chunkedBody}${hidden}`,
    answers: [],
  },
];
