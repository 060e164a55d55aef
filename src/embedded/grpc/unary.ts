import type { Call } from './call.ts';
import { frame } from './framing.ts';
import type { Handler } from './server.ts';
import { INTERNAL, RpcError } from './status.ts';

/** A method with one request message; `handle` runs when the client has finished sending. */
export function oneRequest(handle: (message: Buffer, call: Call) => void): Handler {
  return (call) => {
    let request: Buffer | undefined;
    call.onMessage = (message) => {
      if (request !== undefined) {
        call.fail(new RpcError(INTERNAL, 'More than one message in a unary call.'));
        return;
      }
      request = message;
    };
    call.onHalfClose = () => {
      if (request === undefined) {
        call.fail(new RpcError(INTERNAL, 'A unary call without a message.'));
        return;
      }
      try {
        handle(request, call);
      } catch (error) {
        call.fail(error);
      }
    };
  };
}

export function answer(call: Call, message: Uint8Array): void {
  call.send(frame(message));
  call.end();
}
