import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { publish } from '../../telemetry.ts';
import { followKeys } from './keys.ts';
import { keyStream } from './leaf.ts';
import { LogSigner } from './log-signer.ts';
import type { CheckpointerOptions } from './signing.ts';

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
export const signTree = async (options: CheckpointerOptions, restart: () => void): Promise<LogSigner> => {
  const { store, ours, signers } = options;
  const end = await endOf(store);
  const keys = await followKeys(store, signers);
  const signer = new LogSigner(options, keys);
  if (signer.hasKey) {
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
  signer.subscription = store.subscribe({
    after: signer.hasKey ? signer.place : end,
    async deliver(batch) {
      for (const event of ours(batch)) {
        if (signer.isOver) return;
        if (signer.hasKey) await signer.take(event);
        else takeKey(event);
      }
    },
    failed: (error) => signer.stop(error),
  });
  return signer;
};
