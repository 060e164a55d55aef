/** Answers reads as KurrentDB 25.1 does: one page of events again and again, each compressed at the best level for whoever asks. */
import { createServer } from 'node:http2';
import { constants, gzipSync } from 'node:zlib';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import messages from '@eventstore/db-client/generated/streams_pb.js';
import { serveParent } from '../machine/parent.ts';

export interface ReadsOrder {
  readonly socket: string;
  /** That a read gives. */
  readonly events: number;
  readonly eventBytes: number;
}

const pageEvents = 256;

const eventOf = (eventBytes: number, i: number): Uint8Array => {
  const event = new messages.ReadResp.ReadEvent.RecordedEvent();
  event.setId(new shared.UUID().setString('00000000-0000-4000-8000-000000000001'));
  event.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from('bench-1')));
  event.setStreamRevision(`${i}`).setCommitPosition(`${i}`).setPreparePosition(`${i}`);
  event.getMetadataMap().set('type', 'bench.appended').set('content-type', 'application/json').set('created', '0');
  event.setData(Buffer.from(JSON.stringify({ text: 'e'.repeat(eventBytes - 11) })));
  const read = new messages.ReadResp.ReadEvent().setEvent(event).setCommitPosition(`${i}`);
  return new messages.ReadResp().setEvent(read).serializeBinary();
};

const framed = (message: Uint8Array, compresses: boolean): Buffer => {
  const body = compresses ? gzipSync(message, { level: constants.Z_BEST_COMPRESSION }) : message;
  const head = Buffer.alloc(5);
  head[0] = compresses ? 1 : 0;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
};

const serve = ({ socket, events, eventBytes }: ReadsOrder): Promise<void> => {
  const page = Array.from({ length: pageEvents }, (_, i) => eventOf(eventBytes, i + 1));
  const server = createServer();
  server.on('stream', async (stream, headers) => {
    stream.on('error', () => {});
    const compresses = String(headers['grpc-accept-encoding']).includes('gzip');
    const encoding = compresses ? { 'grpc-encoding': 'gzip' } : {};
    stream.respond({ 'content-type': 'application/grpc', ...encoding }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    for (let sent = 0; sent < events && !stream.destroyed; sent += pageEvents) {
      const bytes = Buffer.concat(page.map((message) => framed(message, compresses)));
      await new Promise<unknown>((resolve) => stream.write(bytes, resolve));
    }
    stream.end();
  });
  return new Promise((resolve) => server.listen(socket, resolve));
};

let endpoint: string | undefined;

serveParent(async (question) => {
  const order = question as ReadsOrder;
  if (endpoint === undefined) {
    await serve(order);
    endpoint = `unix:${order.socket}`;
  }
  return { endpoint };
});
