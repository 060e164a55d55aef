import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What providers of every API have in common: what they refuse, and whose streams do not end by themselves. */

export interface Received<B> {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: B;
}

export interface Provider<B> {
  readonly url: string;
  /** Every request since the last call, in their order. */
  take(): Received<B>[];
  /** Streams that a client has left, since the start. */
  readonly left: () => number;
  close(): Promise<void>;
}

/** What differs. */
export interface Dialect<B> {
  /** The words of the user that were said last. */
  said(body: B): string;
  /** The status of an overload. */
  readonly overload: number;
  refuse(response: ServerResponse, status: number, type: string, message: string, headers?: object): void;
  /** A stream that goes on until its reader leaves. */
  slowly(response: ServerResponse, body: B, path: string): void;
  answer(response: ServerResponse, body: B, request: { readonly said: string; readonly path: string }): void;
}

/**
 * A provider on a free port. It refuses what begins with `Invalid`, refuses once what begins with `Overloaded`, and goes on
 * until its client leaves with what begins with `Slow`.
 */
export const serveProvider = async <B>(dialect: Dialect<B>): Promise<Provider<B>> => {
  const received: Received<B>[] = [];
  const overloaded = new Set<string>();
  let left = 0;
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString()) as B;
    const path = incoming.url!;
    received.push({ path, headers: incoming.headers, body });
    const said = dialect.said(body);
    if (said.startsWith('Invalid')) {
      return dialect.refuse(response, 400, 'invalid_request_error', 'The provider says why.');
    }
    if (said.startsWith('Overloaded') && !overloaded.has(said)) {
      overloaded.add(said);
      const headers = { 'retry-after': '1' };
      return dialect.refuse(response, dialect.overload, 'overloaded_error', 'Overloaded', headers);
    }
    if (!said.startsWith('Slow')) return dialect.answer(response, body, { said, path });
    response.on('close', () => {
      left += 1;
    });
    return dialect.slowly(response, body, path);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take: () => received.splice(0),
    left: () => left,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
};

export const json = (response: ServerResponse, status: number, body: object, headers = {}): void =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

export const halves = (words: string): string[] => [words.slice(0, words.length / 2), words.slice(words.length / 2)];

/** Writes the same event again and again, until its reader leaves. */
export const wordEvery = (response: ServerResponse, delta: string): void => {
  const timer = setInterval(() => response.write(delta), 10);
  response.on('close', () => clearInterval(timer));
};

/** The tool that the user asks for by its name, or the first where one has to be called. */
export const askedFor = (said: string, names: readonly string[], isForced: boolean): string | undefined =>
  names.find((name) => said.includes(`${name} {`)) ?? names.find((name) => isForced || said.includes(name));

/** What a tool is called with: the one member that the user has written after its name, as in `read {path: a.txt}`. */
export const argumentsFor = (said: string, name: string): Readonly<Record<string, string>> | null => {
  const [, written] = said.split(`${name} {`, 2);
  const [, member, value] = /^(\w+): ([^}]*)\}/.exec(written ?? '') ?? [];
  return member === undefined ? null : { [member]: value! };
};
