import { setTimeout as wait } from 'node:timers/promises';
import type { Millis } from '../../clock.ts';
import { publish } from '../../telemetry.ts';
import type { CheckpointerOptions, Signing } from './signing.ts';
import { AnotherLog, signTree, type TreeSigner } from './tree-signer.ts';

export interface Checkpointer extends Signing {
  /** Another log is in the place of the one that was followed: nothing is signed until `beginAgain`. */
  leave(): Promise<void>;
  beginAgain(): Promise<void>;
  /** Signs what no checkpoint covers yet. */
  close(): Promise<void>;
}

const closingMs: Millis = 1_500;

/**
 * Follows the log and signs its tree. Any number of gateways do so at once: a checkpoint is appended at the exact revision
 * behind the last one, so one of them is first, and all go on from what it has signed.
 */
export const startCheckpoints = async (options: CheckpointerOptions): Promise<Checkpointer> => {
  /** All that is known of a log is gone with it. */
  let current: TreeSigner | undefined;
  let unbegun: Error | undefined;
  /** The tree is read anew, since it was another log's. */
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
      // Whoever closes has little time, and a store that is away would take it all: the next start covers the rest.
      await Promise.race([current?.sign(), wait(closingMs, undefined, { ref: false })]);
      await current?.close();
    },
  };
};
