import { credential } from './service.ts';

/** A hostile or odd request, and everything that may come of it when a marker request follows on the connection. */
export interface FramingCase {
  readonly name: string;
  readonly bytes: string;
  /** Statuses of all answers, in order, when the marker is sent after the case has been answered. */
  readonly answers: readonly number[];
  /** The same when the marker follows in the same segment, where that differs. */
  readonly joined?: readonly number[];
  /** Commands carried out. */
  readonly effects?: number;
  /** The same when the marker follows in the same segment, where that differs. */
  readonly joinedEffects?: number;
  /** Whether the request that follows is read as a request. */
  readonly marked?: boolean;
}

const archive = 'POST /v1/organization/things/t1/archive HTTP/1.1\r\nHost: a\r\n';
const auth = `${credential}\r\n`;
const admin = `${archive}${auth}`;

/** Request lines and header lines that RFC 9112 does not have, or that an origin server need not serve. */
export const grammarCases: readonly FramingCase[] = [
  { name: 'a folded header', bytes: `${admin}X-A: b\r\n c\r\n\r\n`, answers: [400] },
  { name: 'a bare CR in a header value', bytes: `${admin}X-A: b\rContent-Length: 5\r\n\r\nhello`, answers: [] },
  {
    name: 'a bare LF between headers',
    bytes: `${archive}${auth.trimEnd()}\nContent-Length: 5\r\n\r\nhello`,
    answers: [400],
  },
  { name: 'bare LF throughout', bytes: `${admin.replaceAll('\r\n', '\n')}\n`, answers: [505] },
  { name: 'NUL in a header value', bytes: `${admin}X-A: b\0c\r\n\r\n`, answers: [400] },
  { name: 'NUL in a header name', bytes: `${admin}X\0A: b\r\n\r\n`, answers: [400] },
  { name: 'a parenthesis in a header name', bytes: `${admin}X(A: b\r\n\r\n`, answers: [400] },
  { name: 'a header line without a colon', bytes: `${admin}Garbage\r\n\r\n`, answers: [400] },
  { name: 'a header line that begins with a space', bytes: `${archive} X: y\r\n${auth}\r\n`, answers: [400] },
  { name: 'no Host', bytes: `POST /v1/organization/things/t1/archive HTTP/1.1\r\n${auth}\r\n`, answers: [400] },
  { name: 'Host twice', bytes: `${admin}Host: b\r\n\r\n`, answers: [400] },
  { name: 'HTTP/1.0', bytes: `${admin.replace('HTTP/1.1', 'HTTP/1.0')}\r\n`, answers: [505] },
  { name: 'HTTP/2.0', bytes: `${admin.replace('HTTP/1.1', 'HTTP/2.0')}\r\n`, answers: [505] },
  { name: 'HTTP/1.2', bytes: `${admin.replace('HTTP/1.1', 'HTTP/1.2')}\r\n`, answers: [505] },
  { name: 'no version', bytes: `${admin.replace(' HTTP/1.1', '')}\r\n`, answers: [] },
  { name: 'absolute form', bytes: `${admin.replace('/v1/', 'http://a/v1/')}\r\n`, answers: [505] },
  { name: 'OPTIONS *', bytes: `OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n`, answers: [505] },
  { name: 'CONNECT', bytes: `CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n`, answers: [505] },
  { name: 'two spaces in the request line', bytes: `${admin.replace('POST /', 'POST  /')}\r\n`, answers: [505] },
  { name: 'a tab in the request line', bytes: `${admin.replace('POST /', 'POST\t/')}\r\n`, answers: [505] },
];
