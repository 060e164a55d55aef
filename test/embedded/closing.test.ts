import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serveGrpc } from '../../src/embedded/grpc/server.ts';

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

test.each<[string, (socket: Socket) => void]>([
  ['says nothing', () => {}],
  ['only begins to speak HTTP/2', (socket) => socket.write(preface)],
  ['speaks no HTTP/2', (socket) => socket.write('GET / HTTP/1.1\r\n\r\n')],
  ['has closed its side', (socket) => socket.end()],
])('the server of the store closes beside a client that %s and stays', async (_, act) => {
  const server = await serveGrpc({ port: 0 }, new Map(), { maxMessageBytes: 1000 });
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.pause();
  await once(socket, 'connect');
  act(socket);
  await expect(server.close('The test is over.')).resolves.toBeUndefined();
});
