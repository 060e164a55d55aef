import { atMost, type Millis } from '../../clock.ts';
import { publish } from '../../telemetry.ts';
import { AnotherLog, type LogSigner } from './log-signer.ts';
import type { CheckpointerOptions, Signing } from './signing.ts';
import { signTree } from './tree-signer.ts';

export interface Checkpointer extends Signing {
  leave(): Promise<void>;
  beginAgain(): Promise<void>;
  close(): Promise<void>;
}

const closingMs: Millis = 1_500;

/**
 * Several gateways may sign at once: each appends at the exact revision after the last checkpoint, and one succeeds.
 */
export const startCheckpoints = async (options: CheckpointerOptions): Promise<Checkpointer> => {
  let current: LogSigner | undefined;
  let unbegun: Error | undefined;
  /** A second mismatch in a row is reported as an error. */
  let isReadAnew = false;
  let beginning: Promise<void> = Promise.resolve();

  const leave = async (): Promise<void> => {
    await current?.close();
    current = undefined;
  };
  const begin = async (): Promise<void> => {
    await leave();
    unbegun = undefined;
    try {
      await options.isThere?.();
      current = await signTree(options, () => void beginAgain());
      isReadAnew = false;
    } catch (error) {
      unbegun = error as Error;
      if (error instanceof AnotherLog && !isReadAnew) {
        isReadAnew = true;
        options.replaced();
      } else publish('follower.stopped', { follower: 'audit log', error });
    }
  };
  const beginAgain = (): Promise<void> => {
    beginning = beginning.then(begin);
    return beginning;
  };

  await beginAgain();
  return {
    get stopped() {
      return unbegun ?? current?.stopped;
    },
    get hasKey() {
      return current?.hasKey ?? true;
    },
    get passedOver() {
      return current?.passedOver ?? [];
    },
    leave,
    beginAgain,
    async close() {
      // The time to close is short, and the next start signs the rest.
      if (current) await atMost(closingMs, current.sign());
      await current?.close();
      await options.closed?.();
    },
  };
};
