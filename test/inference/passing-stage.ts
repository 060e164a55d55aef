import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/clock.ts';
import { type ConnectedModel, connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

interface Received {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Answers with a text, or with an object as JSON. */
export const says =
  (text: string | object, type = 'application/json', status = 200) =>
  (response: ServerResponse): void =>
    void response
      .writeHead(status, { 'content-type': type })
      .end(typeof text === 'string' ? text : JSON.stringify(text));

/**
 * A gateway whose models have one upstream, which answers as `upstream.respond` says and keeps what it was sent last.
 * @param declare the models, of which one may be dedicated to the owner
 */
export const passingStage = async (apiKey: string, declare: (remote: object, owner: string) => readonly object[]) => {
  const upstream = { received: null as Received | null, respond: (_: ServerResponse): void => {} };
  const listening = createServer(async (incoming, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    upstream.received = { url: incoming.url!, headers: incoming.headers, text: Buffer.concat(pieces).toString() };
    upstream.respond(response);
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const base_url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const models = new Map<string, ConnectedModel>();
  const at = await wholeGateway({ models });
  const [mine, other] = [await at.make.tenant(), await at.make.tenant()];
  const remote = { base_url, api_key_env: 'KEY', private_network: true, model: 'theirs' };
  const entry = { context_length: 200_000, max_output_length: 64_000 };
  const declared = declare(remote, mine.organizationId).map((fields) => ({ ...entry, ...fields }));
  const loaded = loadModels(JSON.stringify({ models: declared }), { KEY: apiKey });
  for (const [id, model] of connect(loaded, { clock: systemClock })) models.set(id, model);
  const server = await at.listen();
  return {
    at,
    upstream,
    mine,
    other,
    port: server.port,
    async post(path: string, body: string | object, headers: Readonly<Record<string, string>> = {}) {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
        method: 'POST',
        headers: { ...bearer(mine.projectKey.value), 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
    async close() {
      await server.drain(0);
      await at.close();
      listening.closeAllConnections();
      await new Promise((resolve) => listening.close(resolve));
    },
  };
};
