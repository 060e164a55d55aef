import { type BatchAppendMessage, type ProposedEvent, readBatchAppend, type Target } from '../codec/append-request.ts';
import { type BatchRefusal, encodeBatchRefusal, encodeBatchSuccess } from '../codec/append-response.ts';
import type { Call } from '../grpc/call.ts';
import { frame } from '../grpc/framing.ts';
import type { Handler } from '../grpc/server.ts';
import { INVALID_ARGUMENT, RESOURCE_EXHAUSTED, RpcError } from '../grpc/status.ts';
import { StoreCorrupt } from '../store/records/corrupt.ts';
import { parsing } from './append.ts';
import { AppendSize, checkStreamName, type Fault } from './check-append.ts';
import type { Log } from './log.ts';

interface Open {
  readonly target: Target | undefined;
  readonly events: ProposedEvent[];
  readonly size: AppendSize;
  refusal: BatchRefusal | undefined;
}

const MAX_OPEN = 64;

/** Streams.BatchAppend: many appends on one call, each answered once it is complete. */
export function batchAppendMethod(log: Log): Handler {
  return batchAppend(log, submit);
}

/** For a caller without rights: each append is refused and the call continues, as on a real node. */
export function deniedBatchAppendMethod(log: Log): Handler {
  return batchAppend(log, (_, __, correlation, { target }, reply) =>
    reply(encodeBatchRefusal(correlation, target?.stream ?? Buffer.alloc(0), { detail: 'AccessDenied' })),
  );
}

function batchAppend(log: Log, finish: typeof submit): Handler {
  return (call) => {
    const open = new Map<string, Open>();
    let unanswered = 0;
    let closing = false;
    let refusal: unknown;

    const endIfDone = () => {
      if (unanswered > 0) return;
      if (refusal !== undefined) call.fail(refusal);
      else if (closing) call.end();
    };
    const reply = (message: Buffer) => {
      unanswered--;
      call.send(frame(message));
      endIfDone();
    };

    call.onMessage = (bytes) => {
      if (refusal !== undefined) return;
      const message = parsing(() => readBatchAppend(bytes, log.now()));
      const key = message.correlation.toString('latin1');
      const known = open.get(key);
      const append = known ?? begin(message, log);
      add(append, message.events, log, known !== undefined || !message.final);
      if (!message.final) {
        if (open.size >= MAX_OPEN) throw new RpcError(RESOURCE_EXHAUSTED, `More than ${MAX_OPEN} unfinished appends.`);
        open.set(key, append);
        return;
      }
      open.delete(key);
      unanswered++;
      try {
        finish(log, call, message.correlation, append, reply);
      } catch (error) {
        // Accepted appends are answered before the call ends.
        refusal = error;
        unanswered--;
        call.pause();
        endIfDone();
      }
    };

    call.onHalfClose = () => {
      closing = true;
      endIfDone();
    };
  };
}

function begin(message: BatchAppendMessage, log: Log): Open {
  const { target } = message;
  const fault = target && checkStreamName(target.stream, log.limits);
  return {
    target: target && { ...target, stream: message.final ? target.stream : Buffer.from(target.stream) },
    events: [],
    size: new AppendSize(target?.stream.length ?? 0),
    refusal: isLate(target, log) ? { detail: 'Timeout' } : fault && refusalOf(fault),
  };
}

/** A deadline of zero has always passed. */
function isLate(target: Target | undefined, log: Log): boolean {
  return target !== undefined && target.deadline <= log.now();
}

/** Adds a chunk. Events that wait for another chunk are copied out of the network buffers. */
function add(append: Open, events: readonly ProposedEvent[], log: Log, waits: boolean): void {
  const { limits } = log;
  for (const event of events) {
    if (append.refusal !== undefined) break;
    const fault = append.size.add(event, limits);
    if (fault !== undefined) append.refusal = refusalOf(fault);
    else append.events.push(waits ? copied(event) : event);
  }
  if (append.refusal !== undefined) append.events.length = 0;
}

function copied(event: ProposedEvent): ProposedEvent {
  return {
    ...event,
    type: Buffer.from(event.type),
    metadata: Buffer.from(event.metadata),
    data: Buffer.from(event.data),
  };
}

function refusalOf(fault: Fault): BatchRefusal {
  if (fault.is === 'too-large') return { detail: 'MaximumAppendSizeExceeded', limit: fault.limit };
  const message = fault.is === 'bad' ? fault.message : `Required metadata properties are missing: ${fault.names}.`;
  return { detail: 'BadRequest', message };
}

function submit(log: Log, call: Call, correlation: Buffer, append: Open, reply: (message: Buffer) => void): void {
  const { target, refusal } = append;
  if (target === undefined) throw new RpcError(INVALID_ARGUMENT, 'A batch append without options.');
  const { stream } = target;
  if (refusal !== undefined) {
    reply(encodeBatchRefusal(correlation, stream, refusal));
    return;
  }
  // The deadline applies until the last chunk arrives, not to an accepted write.
  if (isLate(target, log)) {
    reply(encodeBatchRefusal(correlation, stream, { detail: 'Timeout' }));
    return;
  }
  log.admit(call);
  try {
    write(log, correlation, target, append.events, reply);
  } catch (error) {
    if (!(error instanceof StoreCorrupt)) throw error;
    // Ending the call would refuse the other appends on it.
    reply(encodeBatchRefusal(correlation, stream, { detail: 'DataLoss', message: `DATA_LOSS: ${error.message}` }));
  }
}

function write(
  log: Log,
  correlation: Buffer,
  { stream, expected }: Target,
  events: readonly ProposedEvent[],
  reply: (message: Buffer) => void,
): void {
  log.writer.append(stream.toString('utf8'), expected, events, (outcome) => {
    if (outcome.is === 'written') {
      reply(encodeBatchSuccess(correlation, stream, expected, outcome.revision, outcome.position));
    } else if (outcome.is === 'deleted') reply(encodeBatchRefusal(correlation, stream, { detail: 'StreamDeleted' }));
    else {
      reply(
        encodeBatchRefusal(correlation, stream, { detail: 'WrongExpectedVersion', current: outcome.current, expected }),
      );
    }
  });
}
