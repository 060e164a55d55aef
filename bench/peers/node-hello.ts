/** What Node's own HTTP server costs with a fixed reply. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveParent } from '../machine/parent.ts';

const server = createServer((_, response) => {
  response.writeHead(200, { 'Content-Length': 5 }).end('hello');
});
server.keepAliveTimeout = 60_000;
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;

serveParent(() => Promise.resolve({ port }));
