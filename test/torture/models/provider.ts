import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Scene } from '../scene.ts';

/** One request that has come whole. */
export interface Arrival {
  /** The number that the client has written into it. */
  readonly n: number;
  /** As the gateway names it. */
  readonly requestId: string;
  readonly isStream: boolean;
  readonly path: string;
  readonly at: number;
  readonly socket: Socket;
}

export interface Provider {
  readonly url: string;
  readonly port: number;
}

const requestLine = /^POST (\S+) HTTP\/1\.1\r\n/;
const lengthLine = /\r\ncontent-length: (\d+)\r\n/i;
const idLine = /\r\nx-request-id: (\S+)\r\n/i;
const numbered = /request (\d+)\b/;

/** A server of the messages API that leaves everything to `answer`, down to the connection. */
export const provider = async (scene: Scene, answer: (arrival: Arrival) => void): Promise<Provider> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = '';
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (piece) => {
      received += piece.toString('latin1');
      const end = received.indexOf('\r\n\r\n');
      const length = Number(lengthLine.exec(received)?.[1] ?? 0);
      if (end < 0 || received.length < end + 4 + length) return;
      const body = received.slice(end + 4);
      const requestId = idLine.exec(received)?.[1] ?? '';
      const path = requestLine.exec(received)?.[1] ?? '';
      received = '';
      const n = Number(numbered.exec(body)?.[1] ?? Number.NaN);
      answer({ n, requestId, isStream: body.includes('"stream":true'), path, at: performance.now(), socket });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scene.later(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        for (const socket of sockets) socket.destroy();
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port };
};
