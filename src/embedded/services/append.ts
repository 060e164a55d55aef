import { type ProposedEvent, readAppend, type Target } from '../codec/append-request.ts';
import { encodeAppendSuccess, encodeAppendWrongVersion } from '../codec/append-response.ts';
import { MalformedMessage } from '../codec/wire.ts';
import { appendTooLarge, missingMetadata, streamDeleted } from '../grpc/refusals.ts';
import type { Handler } from '../grpc/server.ts';
import { INVALID_ARGUMENT, RpcError } from '../grpc/status.ts';
import { answer } from '../grpc/unary.ts';
import { AppendSize, checkStreamName, type Fault } from './check-append.ts';
import type { Log } from './log.ts';

/** Streams.Append: options, then one event per message; answered when the client has sent all. */
export function appendMethod(log: Log): Handler {
  return (call) => {
    let target: Target | undefined;
    let size = new AppendSize(0);
    const events: ProposedEvent[] = [];

    call.onMessage = (message) => {
      const read = parsing(() => readAppend(message, log.now()));
      if ('stream' in read) {
        target = read;
        size = new AppendSize(read.stream.length);
        refuse(checkStreamName(read.stream, log.limits));
        return;
      }
      if (target === undefined) throw new RpcError(INVALID_ARGUMENT, 'The options of an append come first.');
      refuse(size.add(read, log.limits));
      // Copied, because a slow client would keep the network buffers alive.
      events.push({ ...read, data: Buffer.from(read.data), metadata: Buffer.from(read.metadata) });
    };

    call.onHalfClose = () => {
      if (target === undefined) {
        call.fail(new RpcError(INVALID_ARGUMENT, 'An append without options.'));
        return;
      }
      const { expected } = target;
      const name = target.stream.toString('utf8');
      try {
        log.admit(call);
        log.writer.append(name, expected, events, (outcome) => {
          if (outcome.is === 'written') answer(call, encodeAppendSuccess(outcome.revision, outcome.position));
          else if (outcome.is === 'deleted') call.fail(streamDeleted(name));
          else answer(call, encodeAppendWrongVersion(outcome.current, expected));
        });
      } catch (error) {
        call.fail(error);
      }
    };
  };
}

function refuse(fault: Fault | undefined): void {
  if (fault === undefined) return;
  if (fault.is === 'missing') throw missingMetadata(fault.names);
  if (fault.is === 'too-large') throw appendTooLarge(fault.limit);
  throw new RpcError(INVALID_ARGUMENT, fault.message);
}

/** Turns MalformedMessage into INVALID_ARGUMENT. */
export function parsing<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof MalformedMessage) throw new RpcError(INVALID_ARGUMENT, `Malformed request: ${error.message}.`);
    throw error;
  }
}
