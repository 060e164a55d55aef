import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ReadRequest, readReadRequest } from '../codec/read-request.ts';
import { encodeConfirmation, encodeStreamNotFound } from '../codec/read-response.ts';
import type { Call } from '../grpc/call.ts';
import { frame } from '../grpc/framing.ts';
import { noBoundary, nothingToRead, streamDeleted } from '../grpc/refusals.ts';
import type { Handler } from '../grpc/server.ts';
import { INVALID_ARGUMENT, RESOURCE_EXHAUSTED, RpcError } from '../grpc/status.ts';
import { answer, oneRequest } from '../grpc/unary.ts';
import { isSoftDeleted } from '../store/index/metadata.ts';
import { isMetastreamName } from '../store/index/streams.ts';
import { LogCursor } from '../store/read/log-cursor.ts';
import { Page } from '../store/read/page.ts';
import { PAGE_EVENTS, type ReadSetup, StreamCursor } from '../store/read/stream-cursor.ts';
import { asDamage } from '../store/records/corrupt.ts';
import { compileFilter } from '../subscriptions/filter.ts';
import { LogSource } from '../subscriptions/log-source.ts';
import { StreamSource } from '../subscriptions/stream-source.ts';
import { type Source, Subscription } from '../subscriptions/subscription.ts';
import { parsing } from './append.ts';
import { checkStreamName } from './check-append.ts';
import type { Log } from './log.ts';
import { tellPositions } from './stream-positions.ts';

const DEFAULT_WINDOW = 32;
const FIRST = 1;
/** Real nodes have signed 64-bit positions and revisions. */
const GREATEST = 2n ** 63n - 1n;

const readFault = (error: unknown): unknown =>
  error instanceof RpcError ? error : asDamage(error, 'The file of the store');

export function readMethod(log: Log): Handler {
  return oneRequest((message, call) => {
    try {
      read(log, message, call);
    } catch (error) {
      throw readFault(error);
    }
  });
}

function read(log: Log, message: Buffer, call: Call): void {
  const request = parsing(() => readReadRequest(message));
  const subscribes = request.count === undefined;
  if (request.stream !== undefined) {
    const fault = checkStreamName(request.stream, log.limits);
    if (fault?.is === 'bad') throw new RpcError(INVALID_ARGUMENT, fault.message);
    if (request.filter !== undefined) throw new RpcError(INVALID_ARGUMENT, 'Only $all can be filtered.');
  }
  if (request.count === 0) throw nothingToRead('A read of no events.');
  if (request.from !== 'start' && request.from !== 'end' && request.from > GREATEST) throw noBoundary();
  if (subscribes && request.backwards) throw new RpcError(INVALID_ARGUMENT, 'A subscription goes forwards.');
  const setup: ReadSetup = {
    reader: log.reader,
    streams: log.streams,
    uuids: request.uuids,
    resolveLinks: request.resolveLinks,
    now: log.now,
  };
  if (subscribes) subscribe(log, call, request, setup);
  else if (request.stream !== undefined) readStream(log, call, request, request.stream, setup);
  else readAll(log, call, request, setup);
}

/** The stream, or the stream that a metastream describes, has a tombstone. */
function isTombstoned(log: Log, name: string): boolean {
  return (
    log.streams.get(name).committedTombstone ||
    (isMetastreamName(name) && log.streams.get(name.slice(2)).committedTombstone)
  );
}

function readStream(log: Log, call: Call, request: ReadRequest, nameBytes: Buffer, setup: ReadSetup): void {
  const { from, backwards } = request;
  if (!backwards && from === 'end') throw nothingToRead('Forwards from the end there is nothing.');
  const name = nameBytes.toString('utf8');
  if (isTombstoned(log, name)) throw streamDeleted(name);
  const stream = log.streams.get(name);
  if (stream.committedLast < 0 || isSoftDeleted(log.streams.committedMetadata(stream))) {
    answer(call, encodeStreamNotFound(nameBytes));
    return;
  }
  const revision = from === 'start' ? 0 : from === 'end' ? stream.committedLast : Number(from);
  const cursor = new StreamCursor(setup, name, revision, backwards);
  void pump(
    call,
    cursor,
    request.count!,
    request.tellsPositions ? tellPositions(cursor, revision, backwards) : undefined,
  );
}

function readAll(log: Log, call: Call, request: ReadRequest, setup: ReadSetup): void {
  const { head } = log.reader;
  const position = boundary(log, request);
  if (position === undefined || (request.backwards && typeof position === 'number' && position > head)) {
    throw noBoundary();
  }
  const from = position === 'start' ? FIRST : position === 'end' ? head : position;
  const filter = request.filter && compileFilter(request.filter, log.limits.regexChars);
  void pump(call, new LogCursor(setup, from, request.backwards, filter), request.count!);
}

/** The requested position; undefined where no record begins there. */
function boundary(log: Log, request: ReadRequest): 'start' | 'end' | number | undefined {
  const { from, prepare } = request;
  if (from === 'start' || from === 'end') return from;
  if (prepare > from) return undefined;
  const position = Number(from);
  if (position === 0) return 'start';
  if (position >= log.reader.head) return position;
  return log.reader.isInside(position) ? undefined : position;
}

/** Sends the events, and then the messages of `last`. */
async function pump(
  call: Call,
  cursor: StreamCursor | LogCursor,
  count: number,
  last?: () => readonly Buffer[],
): Promise<void> {
  try {
    for (let left = count; left > 0 && !cursor.done; ) {
      if (call.congested) await call.room();
      if (call.over) return;
      const page = new Page();
      try {
        cursor.fill(page, Math.min(left, PAGE_EVENTS));
      } finally {
        // Sends what comes before damage, too.
        if (page.messages > 0) call.send(page.take(), page.messages);
      }
      left -= page.events;
      await nextTurn();
    }
    for (const message of last?.() ?? []) call.send(frame(message));
    call.end();
  } catch (error) {
    call.fail(readFault(error));
  }
}

function subscribe(log: Log, call: Call, request: ReadRequest, setup: ReadSetup): void {
  const name = request.stream?.toString('utf8');
  if (name !== undefined && isTombstoned(log, name)) throw streamDeleted(name);
  if (log.hub.count >= log.limits.subscriptions) {
    throw new RpcError(RESOURCE_EXHAUSTED, `More than ${log.limits.subscriptions} subscriptions.`);
  }
  const { filter } = request;
  if (filter !== undefined && (filter.window === 0 || filter.checkpointMultiplier === 0)) {
    throw new RpcError(INVALID_ARGUMENT, 'Search window and checkpoint interval must be above 0.');
  }
  const matches = filter && compileFilter(filter, log.limits.regexChars);
  call.send(frame(encodeConfirmation(randomUUID())));
  let source: Source;
  if (name !== undefined) {
    const { from } = request;
    const after = from === 'start' ? -1 : from === 'end' ? log.streams.get(name).committedLast : Number(from);
    source = new StreamSource(setup, name, after);
  } else {
    const position = boundary(log, request);
    if (position === undefined) throw noBoundary();
    const { head } = log.reader;
    const start =
      position === 'start'
        ? FIRST
        : position === 'end'
          ? head
          : position >= head
            ? position + 1
            : request.prepare < position
              ? position
              : log.reader.behind(position);
    const interval = (filter?.window ?? DEFAULT_WINDOW) * (filter?.checkpointMultiplier ?? 1);
    source = new LogSource(setup, start, typeof position === 'number' ? position : undefined, matches, interval);
  }
  const subscription = new Subscription(call, source, log.limits, log.faults);
  call.onOver = log.hub.listen(name, subscription);
  void subscription.catchUp();
}
