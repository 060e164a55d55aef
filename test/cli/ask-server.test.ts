import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { askServer } from '../../src/cli/server/ask-server.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

const serving = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

test('a redirect is an answer, and no key goes where it leads', async () => {
  const asked: string[] = [];
  const elsewhere = await serving((request, response) => {
    asked.push(request.url ?? '');
    response.end('{}');
  });
  const url = await serving((_, response) => response.writeHead(307, { location: elsewhere }).end());
  expect(await askServer(url, 'gwa_mine', 30_000)).toMatchObject({ status: 307, body: null, certificateEnds: null });
  expect(asked).toEqual([]);
});

test.each([
  ['does not answer', () => {}],
  ['does not end its answer', (_, response) => void response.write('{')],
] as [string, RequestListener][])('a server that %s is not waited for any longer', async (_, listener) => {
  const url = await serving(listener);
  await expect(askServer(url, undefined, 200)).rejects.toThrow(/^no answer in time$/);
});

test('a server that breaks its answer off has given none', async () => {
  const url = await serving((_, response) => {
    response.writeHead(200, { 'content-length': '9' }).write('{');
    response.destroy();
  });
  await expect(askServer(url, undefined, 30_000)).rejects.toThrow(/./);
});
