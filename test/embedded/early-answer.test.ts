// Lane: middle, timed: its clients ping, and give up a store that is slow to answer
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { expect, test } from 'vitest';
import { type Handler, serveGrpc } from '../../src/embedded/grpc/server.ts';
import { DATA, endsStream, type Frame, FrameConnection, HEADERS, RST_STREAM, WINDOW_UPDATE } from './frames.ts';
import { connect, freshDir, numbered, openStore, rejection } from './store-under-test.ts';

const APPEND = '/event_store.client.streams.Streams/Append';
const BATCH_APPEND = '/event_store.client.streams.Streams/BatchAppend';
const NO_ERROR = 0;

const framed = (message: Uint8Array, length = message.length): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
};

/** The frames of the call, without those that only let more in. */
const ofCall = (seen: readonly Frame[], call: number) =>
  seen.filter(({ stream, type }) => stream === call && type !== WINDOW_UPDATE);

/** The frames of a call until it is reset. */
async function untilReset(connection: FrameConnection, stream = 1): Promise<Frame[]> {
  await connection.until((seen) => ofCall(seen, stream).some(({ type }) => type === RST_STREAM));
  return ofCall(connection.seen, stream);
}

function tooMany(): Buffer {
  const options = new streams.AppendReq.Options();
  options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from('large-1')));
  options.setAny(new shared.Empty());
  const message = new streams.AppendReq.ProposedMessage();
  message.setId(new shared.UUID().setString('00000000-0000-4000-8000-000000000001'));
  message.getMetadataMap().set('type', 't').set('content-type', 'application/octet-stream');
  message.setData(new Uint8Array(1_100_000));
  const events = new streams.AppendReq().setProposedMessage(message).serializeBinary();
  return Buffer.concat([framed(new streams.AppendReq().setOptions(options).serializeBinary()), framed(events)]);
}

test.each([
  ['a message above the limit', APPEND, framed(Buffer.alloc(20_000), 19 * 1024 * 1024)],
  ['an append above the limit', APPEND, tooMany()],
  ['a message above the limit on the batch stream', BATCH_APPEND, framed(Buffer.alloc(20_000), 19 * 1024 * 1024)],
  ['an unknown method', '/no.such.Service/Method', framed(Buffer.alloc(20_000))],
])('%s is answered and then reset, though its client would send on', async (_, path, body) => {
  const { endpoint } = await openStore();
  const connection = new FrameConnection(endpoint.slice('unix:'.length));
  connection.open(1, path);
  connection.data(1, body);
  const frames = await untilReset(connection);
  expect(frames.map(({ type }) => type)).toEqual([HEADERS, RST_STREAM]);
  expect(endsStream(frames[0]!)).toBe(true);
  expect(frames[1]!.payload.readUInt32BE(0)).toBe(NO_ERROR);
  connection.close();
});

test('a call that has been given messages has its status in trailers, and then the reset', async () => {
  const { endpoint, client } = await openStore();
  await client.appendToStream('some-1', numbered(1));
  const connection = new FrameConnection(endpoint.slice('unix:'.length));
  connection.open(1, BATCH_APPEND);
  const append = new streams.BatchAppendReq();
  append.setCorrelationId(new shared.UUID().setString('00000000-0000-4000-8000-000000000002'));
  const options = new streams.BatchAppendReq.Options();
  options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from('some-1')));
  append.setOptions(options.setStreamPosition('7')).setIsFinal(true);
  connection.data(1, framed(append.serializeBinary()));
  await connection.until((seen) => ofCall(seen, 1).some(({ type }) => type === DATA));
  connection.data(1, framed(Buffer.alloc(20_000), 19 * 1024 * 1024));
  expect((await untilReset(connection)).map(({ type }) => type)).toEqual([HEADERS, DATA, HEADERS, RST_STREAM]);
  connection.close();
});

test('a status that has to wait behind other answers is not overtaken by the reset', async () => {
  let flooded = (): void => {};
  const floods = new Promise<void>((resolve) => {
    flooded = resolve;
  });
  const flood: Handler = (call) => {
    // More than any socket takes at once.
    call.send(Buffer.alloc(16 * 1024 * 1024));
    flooded();
  };
  const socket = join(freshDir(), 's.sock');
  const server = await serveGrpc({ socket }, new Map([['/flood', flood]]), { maxMessageBytes: 1000 });
  const connection = new FrameConnection(socket);
  connection.open(1, '/flood');
  connection.hold(1);
  await floods;
  // It leaves at the end of its turn.
  await nextTurn();
  connection.open(3, '/no.such.Service/Method');
  // Longer than a client is given to end a request that was refused at once.
  await wait(300);
  connection.resume();
  expect((await untilReset(connection, 3)).map(({ type }) => type)).toEqual([HEADERS, RST_STREAM]);
  connection.close();
  await server.close('The test is over.');
});

test('an append of 18 MB is refused each time, however often and by how many at once', {
  timeout: 120_000,
}, async () => {
  const { endpoint } = await openStore();
  const client = connect(endpoint);
  const large = { ...numbered(1), metadata: 'x'.repeat(18_000_000) };
  const credentials = { username: 'a', password: 'b' };
  const refused = async () => {
    for (;;) {
      const refusal = await rejection(client.appendToStream('large-1', large, { credentials, deadline: 30_000 }));
      // A loaded machine may lose the connection, which says nothing of the append.
      if (refusal.code !== 14) return refusal;
    }
  };
  for (let round = 0; round < 8; round++) {
    const refusals = await Promise.all([1, 2, 3].map(refused));
    expect(refusals.map(({ code }) => code)).toEqual([8, 8, 8]);
  }
});

test('the connection lives on for other calls', async () => {
  const { endpoint } = await openStore({ limits: { messageBytes: 100_000 } });
  const client = connect(endpoint);
  const large = numbered(1);
  const credentials = { username: 'a', password: 'b' };
  const refused = client.appendToStream('large-1', { ...large, metadata: 'x'.repeat(3_000_000) }, { credentials });
  await expect(refused).rejects.toMatchObject({ code: 8 });
  await client.appendToStream('large-1', numbered(2));
});
