import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { constants, gzipSync } from 'node:zlib';
import { EventStoreDBClient } from '@eventstore/db-client';
import { afterEach, expect, test } from 'vitest';
import { openArchive } from '../../src/eventstoredb/archive.ts';
import { askUncompressed, messages, shared } from '../../src/eventstoredb/client/client-internals.ts';
import { clientFor } from '../../src/eventstoredb/client/target.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { collect } from '../contract/events.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const recorded = (): Uint8Array => {
  const event = new messages.ReadResp.ReadEvent.RecordedEvent();
  event.setId(new shared.UUID().setString('00000000-0000-4000-8000-000000000001'));
  event.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from('s-1')));
  event.setStreamRevision('0').setCommitPosition('1').setPreparePosition('1');
  event.getMetadataMap().set('type', 't').set('content-type', 'application/json').set('created', '0');
  event.setData(Buffer.from('{"i":0}'));
  const read = new messages.ReadResp.ReadEvent().setEvent(event).setCommitPosition('1');
  return new messages.ReadResp().setEvent(read).serializeBinary();
};

/** Answers as KurrentDB does: each call with one event, compressed at the best level for whoever can read that. */
const answer = (stream: ServerHttp2Stream, asked: IncomingHttpHeaders): boolean => {
  const compresses = String(asked['grpc-accept-encoding']).includes('gzip');
  const message = recorded();
  const body = compresses ? gzipSync(message, { level: constants.Z_BEST_COMPRESSION }) : message;
  const head = Buffer.alloc(5);
  head[0] = compresses ? 1 : 0;
  head.writeUInt32BE(body.length, 1);
  stream.respond(
    { 'content-type': 'application/grpc', ...(compresses && { 'grpc-encoding': 'gzip' }) },
    { waitForTrailers: true },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.concat([head, body]));
  return compresses;
};

/** A store that says for each call whether it has compressed the answer. */
const compressingStore = async (): Promise<{ url: string; compressed: boolean[] }> => {
  const compressed: boolean[] = [];
  const server: Http2Server = createServer();
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    compressed.push(answer(stream, headers));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(() => server.close());
  return { url: `esdb://127.0.0.1:${(server.address() as AddressInfo).port}?tls=false`, compressed };
};

test('the client as it comes is given compressed answers', async () => {
  const { url, compressed } = await compressingStore();
  const client = EventStoreDBClient.connectionString(url);
  undo.push(() => client.dispose());
  expect(await collect(client.readAll())).toHaveLength(1);
  expect(compressed).toEqual([true]);
});

test('our client is given answers as they are, whatever it asks and after its connection is made anew', async () => {
  const { url, compressed } = await compressingStore();
  const client = clientFor({ url });
  undo.push(() => client.dispose());
  const [read] = await collect(client.readAll());
  expect(read).toMatchObject({ event: { streamId: 's-1', data: { i: 0 } } });
  await collect(client.readStream('s-1'));
  expect(compressed).toEqual([false, false]);
});

test.each(['a store', 'an archive'])('so is %s of ours', async (what) => {
  const { url, compressed } = await compressingStore();
  if (what === 'a store') {
    const store = connect({ url });
    undo.push(() => store.close());
    await collect(store.read('s-1'));
  } else {
    const archive = openArchive({ url });
    undo.push(() => archive.close());
    expect((await archive.last())?.stream).toBe('s-1');
  }
  expect(compressed.length).toBeGreaterThan(0);
  expect(compressed).not.toContain(true);
});

test('a connection that is built otherwise is refused', async () => {
  const inside = {
    GRPCStreamCreator() {},
    handleError() {},
    callArguments() {},
    getChannel: async () => ({ close() {} }),
  };
  askUncompressed(inside);
  await expect(inside.getChannel()).rejects.toThrow('this is not @grpc/grpc-js 1.14: its channel has no filters');
});
