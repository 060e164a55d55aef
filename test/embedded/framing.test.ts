import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';
import { Unframer } from '../../src/embedded/grpc/framing.ts';
import { percentEncode, timeoutMs } from '../../src/embedded/grpc/status.ts';
import { collect, connect, numbered, openStore } from './store-under-test.ts';

const sessions: ClientHttp2Session[] = [];
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

function raw(endpoint: string): ClientHttp2Session {
  const path = endpoint.slice('unix:'.length);
  const session = connectHttp2('http://localhost', { createConnection: () => connectSocket(path) });
  session.on('error', () => {});
  sessions.push(session);
  return session;
}

const READ = '/event_store.client.streams.Streams/Read';
const APPEND = '/event_store.client.streams.Streams/Append';
const BATCH_APPEND = '/event_store.client.streams.Streams/BatchAppend';

function open(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => {});
  return stream;
}

/** Status and body of a call, as they came over the wire. */
async function finish(
  stream: ClientHttp2Stream,
): Promise<{ http: number; status: string; message: string; body: Buffer }> {
  const parts: Buffer[] = [];
  let seen: Record<string, unknown> = {};
  stream.on('response', (headers) => {
    seen = { ...seen, ...headers };
  });
  stream.on('trailers', (trailers) => {
    seen = { ...seen, ...trailers };
  });
  stream.on('data', (chunk: Buffer) => parts.push(chunk));
  await new Promise((resolve) => stream.once('close', resolve));
  return {
    http: Number(seen[':status']),
    status: String(seen['grpc-status']),
    message: String(seen['grpc-message']),
    body: Buffer.concat(parts),
  };
}

const framed = (message: Uint8Array, flag = 0): Buffer => {
  const out = Buffer.alloc(5 + message.length);
  out[0] = flag;
  out.writeUInt32BE(message.length, 1);
  out.set(message, 5);
  return out;
};

/** A field of a message that has a length below 128. */
const part = (field: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);

function readRequest(name: string): Buffer {
  const options = new streams.ReadReq.Options();
  const target = new streams.ReadReq.Options.StreamOptions();
  target.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(name)));
  target.setStart(new shared.Empty());
  options.setStream(target);
  options.setCount('10');
  return Buffer.from(new streams.ReadReq().setOptions(options).serializeBinary());
}

describe('frames', () => {
  const messages = [Buffer.alloc(0), Buffer.from('a'), Buffer.alloc(300, 7), Buffer.from('end')];
  const bytes = Buffer.concat(messages.map((message) => framed(message)));

  test('cut anywhere give the same messages', () => {
    for (let first = 0; first <= bytes.length; first++) {
      const got: Buffer[] = [];
      const unframer = new Unframer(1000);
      for (const part of [bytes.subarray(0, first), bytes.subarray(first)])
        unframer.push(part, (m) => got.push(Buffer.from(m)));
      expect(got).toEqual(messages);
      expect(unframer.atBoundary).toBe(true);
    }
  });

  test('of single bytes give the same messages', () => {
    const got: Buffer[] = [];
    const unframer = new Unframer(1000);
    for (const byte of bytes) unframer.push(Buffer.from([byte]), (m) => got.push(Buffer.from(m)));
    expect(got).toEqual(messages);
  });

  test('longer than the limit are refused at their header', () => {
    const unframer = new Unframer(299);
    expect(() => unframer.push(bytes, () => {})).toThrow(/exceeds the limit/);
  });
});

test('a request sent byte by byte over the wire is answered', async () => {
  const { endpoint, client } = await openStore();
  await client.appendToStream('cut-1', numbered(1));
  const stream = open(raw(endpoint), READ);
  const answer = finish(stream);
  for (const byte of framed(readRequest('cut-1'))) stream.write(Buffer.from([byte]));
  stream.end();
  const { status, body } = await answer;
  expect(status).toBe('0');
  expect(streams.ReadResp.deserializeBinary(body.subarray(5)).getEvent()?.getEvent()?.getStreamRevision()).toBe('0');
});

test('a message cut off by the end of the request is an error', async () => {
  const { endpoint } = await openStore();
  const stream = open(raw(endpoint), READ);
  const answer = finish(stream);
  stream.end(framed(readRequest('cut-1')).subarray(0, 12));
  expect((await answer).status).toBe('13');
});

test('a compressed message and a compressed call are refused', async () => {
  const { endpoint } = await openStore();
  const session = raw(endpoint);
  const flagged = open(session, READ);
  const first = finish(flagged);
  flagged.end(framed(readRequest('x'), 1));
  expect((await first).status).toBe('12');
  const encoded = open(session, READ, { 'grpc-encoding': 'gzip' });
  const second = finish(encoded);
  encoded.end(framed(readRequest('x')));
  expect((await second).status).toBe('12');
});

test('an unknown method is UNIMPLEMENTED, and what is no gRPC gets an HTTP status', async () => {
  const { endpoint } = await openStore();
  const session = raw(endpoint);
  const unknown = open(session, '/event_store.client.users.Users/Create');
  const answer = finish(unknown);
  unknown.end(framed(Buffer.alloc(0)));
  expect(await answer).toMatchObject({ http: 200, status: '12' });
  const json = open(session, READ, { 'content-type': 'application/json' });
  const refused = finish(json);
  json.end();
  expect((await refused).http).toBe(415);
});

test('a message above the limit ends the call, not the connection', async () => {
  const { endpoint } = await openStore({ limits: { messageBytes: 1000 } });
  const session = raw(endpoint);
  const large = open(session, READ);
  const answer = finish(large);
  large.write(framed(Buffer.alloc(1001)));
  expect((await answer).status).toBe('8');
  const small = open(session, READ);
  const next = finish(small);
  small.end(framed(readRequest('none')));
  expect((await next).status).toBe('0');
});

test('garbage in a frame is INVALID_ARGUMENT', async () => {
  const { endpoint } = await openStore();
  const stream = open(raw(endpoint), APPEND);
  const answer = finish(stream);
  stream.write(framed(Buffer.from([0xff, 0xff, 0xff])));
  expect((await answer).status).toBe('3');
});

describe('a deadline', () => {
  test('ends a call that waits longer', async () => {
    const { endpoint, client } = await openStore({ faults: { commitDelayMs: 300 } });
    const error = await client
      .appendToStream('slow-1', numbered(1), { deadline: 50, credentials: { username: 'a', password: 'b' } })
      .catch((caught: { type: string }) => caught);
    expect(error).toMatchObject({ type: 'deadline-exceeded' });
    const stream = open(raw(endpoint), APPEND, { 'grpc-timeout': '30m' });
    expect((await finish(stream)).status).toBe('4');
  });

  test('that has passed on arrival leaves nothing behind', async () => {
    const { endpoint, client } = await openStore();
    const late = await client
      .appendToStream('late-1', numbered(1), { deadline: -1000 })
      .catch((caught: { type: string }) => caught);
    expect(late).toMatchObject({ type: 'deadline-exceeded' });
    const other = connect(endpoint);
    await expect(async () => {
      for await (const _ of other.readStream('late-1')) throw new Error('there is an event');
    }).rejects.toMatchObject({ type: 'stream-not-found' });
  });

  test.each([
    ['of zero seconds from now', 7, Buffer.alloc(0)],
    ['of a second ago', 7, Buffer.from([8, ...Array(9).fill(0xff), 1])],
    ['at the beginning of time', 6, Buffer.alloc(0)],
  ])('%s lets a batch append write nothing', async (_, field, deadline) => {
    const { endpoint, client } = await openStore();
    const id = new shared.UUID().setString('00000000-0000-4000-8000-000000000003').serializeBinary();
    const name = new shared.StreamIdentifier().setStreamName(Buffer.from('late-2'));
    const options = new streams.BatchAppendReq.Options().setStreamIdentifier(name).setAny(new shared.Empty());
    const message = new streams.BatchAppendReq.ProposedMessage();
    message.setId(new shared.UUID().setString('00000000-0000-4000-8000-000000000004'));
    message.getMetadataMap().set('type', 't').set('content-type', 'application/octet-stream');
    const call = open(raw(endpoint), BATCH_APPEND);
    const answer = finish(call);
    // Written out: the client's own messages know one of the two kinds of deadline alone.
    const late = Buffer.concat([options.serializeBinary(), part(field, deadline)]);
    const isFinal = Buffer.from([4 << 3, 1]);
    call.end(framed(Buffer.concat([part(1, id), part(2, late), part(3, message.serializeBinary()), isFinal])));
    expect((await answer).body.toString('latin1')).toContain('event_store.client.Timeout');
    await expect(collect(client.readStream('late-2'))).rejects.toMatchObject({ type: 'stream-not-found' });
  });

  test('is read in every unit', () => {
    expect([undefined, '2H', '3M', '4S', '5m', '6u', '7n'].map(timeoutMs)).toEqual([
      undefined,
      7_200_000,
      180_000,
      4000,
      5,
      0.006,
      0.000007,
    ]);
    expect(timeoutMs('soon')).toBeNaN();
  });
});

test('grpc-js, without the client around it, reads, appends and sees status and trailers', async () => {
  const { endpoint } = await openStore();
  const client = new streamsService.StreamsClient(endpoint, grpc.credentials.createInsecure());
  const options = new streams.AppendReq.Options();
  options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from('second-1')));
  options.setNoStream(new shared.Empty());
  const appended = await new Promise<InstanceType<typeof streams.AppendResp>>((resolve, reject) => {
    const call = client.append((error, response) => (error ? reject(error) : resolve(response)));
    call.write(new streams.AppendReq().setOptions(options));
    const message = new streams.AppendReq.ProposedMessage();
    message.setId(new shared.UUID().setString('00000000-0000-4000-8000-000000000001'));
    message.getMetadataMap().set('type', 't');
    message.getMetadataMap().set('content-type', 'application/json');
    call.write(new streams.AppendReq().setProposedMessage(message));
    call.end();
  });
  expect(appended.getSuccess()?.getCurrentRevision()).toBe('0');
  const error = await new Promise<grpc.ServiceError>((resolve) => {
    const call = client.append((failure) => resolve(failure!));
    call.write(new streams.AppendReq().setOptions(options));
    const message = new streams.AppendReq.ProposedMessage();
    message.setId(new shared.UUID().setString('00000000-0000-4000-8000-000000000002'));
    call.write(new streams.AppendReq().setProposedMessage(message));
    call.end();
  });
  expect(error.code).toBe(grpc.status.INVALID_ARGUMENT);
  expect(error.metadata.getMap()).toMatchObject({
    exception: 'missing-required-metadata-property',
    'required-metadata-properties': 'type,content-type',
  });
  client.close();
});

test('messages of a status are percent-encoded', () => {
  expect(percentEncode('50% ü\n')).toBe('50%25 %C3%BC%0A');
});
