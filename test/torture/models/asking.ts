import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { Site } from './site.ts';

export interface Heard {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Whether the answer has come to its end. */
  readonly isWhole: boolean;
  readonly ms: number;
}

/** Asks for one message; a connection that is lost is told as an answer that is not whole, with status 0 before its head. */
export const ask = ({ port, key }: Site, body: string, agent?: Agent): Promise<Heard> =>
  new Promise((resolve) => {
    const began = performance.now();
    let status = 0;
    let headers: IncomingHttpHeaders = {};
    let text = '';
    const over = (isWhole: boolean) => () => resolve({ status, headers, text, isWhole, ms: performance.now() - began });
    const sent = request({
      ...{ port, agent: agent ?? false, method: 'POST', path: '/v1/messages' },
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    sent.on('error', over(false));
    sent.on('response', (response) => {
      status = response.statusCode ?? 0;
      headers = response.headers;
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', over(true));
      response.on('error', over(false));
      response.on('close', over(false));
    });
    sent.end(body);
  });

export interface HeardEvent {
  readonly type: string;
  readonly delta?: { readonly text?: string };
}

/** The data of each event but pings. @throws SyntaxError for one that is no JSON */
export const eventsIn = (text: string): HeardEvent[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as HeardEvent)
    .filter(({ type }) => type !== 'ping');

export const textOf = (events: readonly HeardEvent[]): string => events.map(({ delta }) => delta?.text ?? '').join('');
