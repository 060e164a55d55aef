import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { expect, test } from 'vitest';
import { DATA, endsStream, type Frame, FrameConnection, HEADERS, PING, RST_STREAM, WINDOW_UPDATE } from './frames.ts';
import { connect, numbered, openStore } from './store-under-test.ts';

const APPEND = '/event_store.client.streams.Streams/Append';
const BATCH_APPEND = '/event_store.client.streams.Streams/BatchAppend';
const NO_ERROR = 0;

const framed = (message: Uint8Array, length = message.length): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
};

/** The frames of the call, without those that only let more in. */
const ofCall = (seen: readonly Frame[]) => seen.filter(({ stream, type }) => stream === 1 && type !== WINDOW_UPDATE);

/** The frames of a call until its answer has ended, and those that the server has sent at once behind it. */
async function untilAnswered(connection: FrameConnection): Promise<Frame[]> {
  await connection.until((seen) => ofCall(seen).some(endsStream));
  connection.ping();
  await connection.until((seen) => seen.some(({ type }) => type === PING));
  return ofCall(connection.seen);
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
  const frames = await untilAnswered(connection);
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
  await connection.until((seen) => ofCall(seen).some(({ type }) => type === DATA));
  connection.data(1, framed(Buffer.alloc(20_000), 19 * 1024 * 1024));
  expect((await untilAnswered(connection)).map(({ type }) => type)).toEqual([HEADERS, DATA, HEADERS, RST_STREAM]);
  connection.close();
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
