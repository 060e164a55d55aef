/**
 * What HTTP/2, gRPC and the codec allow without any storage: appends are answered as they come, reads are one page of
 * encoded events again and again. Everything else is the embedded store's own code, as built.
 */
import { join } from 'node:path';
import { builtStore } from '../build.ts';
import { serveParent } from '../machine/parent.ts';

const built = async <M>(name: string): Promise<M> => (await import(join(builtStore, '..', name))) as M;
const { serveGrpc } = await built<typeof import('../../src/embedded/grpc/server.ts')>('grpc/server.js');
const { frame } = await built<typeof import('../../src/embedded/grpc/framing.ts')>('grpc/framing.js');
const { oneRequest } = await built<typeof import('../../src/embedded/grpc/unary.ts')>('grpc/unary.js');
const requests = await built<typeof import('../../src/embedded/codec/append-request.ts')>('codec/append-request.js');
const answers = await built<typeof import('../../src/embedded/codec/append-response.ts')>('codec/append-response.js');
const reads = await built<typeof import('../../src/embedded/codec/read-request.ts')>('codec/read-request.js');
const replies = await built<typeof import('../../src/embedded/codec/read-response.ts')>('codec/read-response.js');
const { featuresMethod } =
  await built<typeof import('../../src/embedded/services/server-info.ts')>('services/server-info.js');
const { Page } = await built<typeof import('../../src/embedded/store/read/page.ts')>('store/read/page.js');
const record = await built<typeof import('../../src/embedded/store/records/record.ts')>('store/records/record.js');

type Call = import('../../src/embedded/grpc/call.ts').Call;

const PAGE_EVENTS = 256;
const STREAMS = '/event_store.client.streams.Streams';

const pageOf = (eventBytes: number): Buffer => {
  const page = new Page();
  for (let i = 1; i <= PAGE_EVENTS; i++) {
    const event = {
      position: i,
      streamNo: 1,
      name: Buffer.from('bench-00000000-0000-4000-8000-000000000000-50'),
      revision: i,
      id: 'x'.repeat(16),
      type: Buffer.from('bench.appended'),
      json: true,
      metadata: Buffer.alloc(0),
      data: Buffer.from(JSON.stringify({ text: 'e'.repeat(eventBytes - 11) })),
      created: Date.now(),
    };
    const bytes = Buffer.alloc(record.recordSize(event));
    record.encodeRecord(bytes, 0, event);
    page.addEvent({ bytes, length: bytes.length }, undefined, i, 'string');
  }
  return page.take();
};

const append = (call: Call): void => {
  let position = 0;
  call.onMessage = (bytes) => {
    const { correlation, target, events } = requests.readBatchAppend(bytes, Date.now());
    position += events.length;
    if (target === undefined) return;
    const { stream, expected } = target;
    const revision = (typeof expected === 'number' ? expected : -1) + events.length;
    call.send(frame(answers.encodeBatchSuccess(correlation, stream, expected, revision, position)));
  };
  call.onHalfClose = () => call.end();
};

const read = (page: Buffer, events: number) =>
  oneRequest(async (bytes, call) => {
    const { count } = reads.readReadRequest(bytes);
    if (count === undefined) call.send(frame(replies.encodeConfirmation('00000000-0000-4000-8000-000000000000')));
    for (let sent = 0; sent < events && !call.over; sent += PAGE_EVENTS) {
      if (call.congested) await call.room();
      call.send(page, PAGE_EVENTS);
      await new Promise(setImmediate);
    }
    if (count === undefined) call.send(frame(replies.CAUGHT_UP));
    else call.end();
  });

let endpoint: string | undefined;

serveParent(async (question) => {
  const { socket, events, eventBytes } = question as { socket: string; events: number; eventBytes: number };
  if (endpoint === undefined) {
    const methods = new Map([
      [`${STREAMS}/BatchAppend`, append],
      [`${STREAMS}/Read`, read(pageOf(eventBytes), events)],
      ['/event_store.client.server_features.ServerFeatures/GetSupportedMethods', featuresMethod()],
    ]);
    ({ endpoint } = await serveGrpc({ socket }, methods, { maxMessageBytes: 17 * 2 ** 20 }));
  }
  return { endpoint };
});
