import { readDelete } from '../codec/append-request.ts';
import { encodeDeleted } from '../codec/append-response.ts';
import { deleteAtWrongVersion, streamDeleted } from '../grpc/refusals.ts';
import type { Handler } from '../grpc/server.ts';
import { INVALID_ARGUMENT, RpcError } from '../grpc/status.ts';
import { answer, oneRequest } from '../grpc/unary.ts';
import { parsing } from './append.ts';
import { checkStreamName } from './check-append.ts';
import type { Log } from './log.ts';

export function deleteMethod(log: Log, kind: 'delete' | 'tombstone'): Handler {
  return oneRequest((message, call) => {
    const { stream, expected } = parsing(() => readDelete(message));
    const fault = checkStreamName(stream, log.limits);
    if (fault?.is === 'bad') throw new RpcError(INVALID_ARGUMENT, fault.message);
    const name = stream.toString('utf8');
    log.admit(call);
    log.writer[kind](name, expected, (outcome) => {
      if (outcome.is === 'written') answer(call, encodeDeleted(outcome.position));
      else if (outcome.is === 'deleted') call.fail(streamDeleted(name));
      else call.fail(deleteAtWrongVersion(name, expected, outcome.current));
    });
  });
}
