import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { publish } from '../../telemetry.ts';
import { followKeys } from './keys.ts';
import { keyStream } from './leaf.ts';
import { LogSigner } from './log-signer.ts';
import type { CheckpointerOptions, Signing } from './signing.ts';

export interface TreeSigner extends Signing {
  sign(): Promise<void>;
  close(): Promise<void>;
}

const endOf = async (store: Pick<EventStore, 'readAll'>): Promise<bigint | null> => {
  for await (const { position } of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) return position;
  return null;
};

/**
 * Begins to sign the tree of the log. Each checkpoint is computed from a fresh read, on the connection that then
 * appends it once, so that nothing of a log that was replaced is signed into its replacement.
 * @param restart called when an own key appears in a log that had none
 * @throws BrokenTree if the log is not what was signed, AnotherLog if it is not the log that the tree was read from
 */
export const signTree = async (options: CheckpointerOptions, restart: () => void): Promise<TreeSigner> => {
  const { store, ours, signers } = options;
  const end = await endOf(store);
  const keys = await followKeys(store, signers);
  const signer = new LogSigner(options, keys);
  const hasKey = keys.hasOwn;
  if (hasKey) {
    const known = options.head();
    if (known) await signer.begin(known);
  } else publish('audit.no_key', {});

  const takeKey = (event: Recorded): void => {
    if (event.stream !== keyStream) return;
    keys.add(event);
    if (!keys.hasOwn) return;
    signer.end();
    restart();
  };
  const subscription = store.subscribe({
    after: hasKey ? signer.place : end,
    async deliver(batch) {
      for (const event of ours(batch)) {
        if (signer.isOver) return;
        if (hasKey) await signer.take(event);
        else takeKey(event);
      }
    },
    failed: (error) => signer.stop(error),
  });

  return {
    get stopped() {
      return signer.stopped;
    },
    hasKey,
    get passedOver() {
      return [...keys.passedOver.map(({ revision }) => ({ stream: keyStream, revision })), ...signer.foreign];
    },
    sign: async () => {
      if (hasKey) await signer.sign();
    },
    async close() {
      signer.end();
      await subscription.close();
    },
  };
};
