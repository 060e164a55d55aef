import { auditTree, auditTreeHashes, auditTreeHead, auditTreeSteps } from '../../projections/audit-tree.ts';
import { type Checkpointer, startCheckpoints } from '../audit/log/checkpointer.ts';
import { ensureFirstKey, originOf, signersOf } from '../audit/log/keys.ts';
import { coveredFrom } from '../audit/log/new-part.ts';
import { openSinks } from '../audit/log/sinks/sinks.ts';
import type { Clock, Millis } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';
import type { Ours } from '../kernel/store/ownership.ts';
import type { EventStore } from '../kernel/store/store.ts';
import type { SignedCheckpoint } from '../merkle/checkpoint.ts';
import type { Secrets } from '../secrets/master-secrets.ts';

const shownMs: Millis = 5_000;

export const keepAuditLog = async (parts: {
  readonly config: Config;
  readonly store: EventStore;
  readonly subscribe: EventStore['subscribe'];
  readonly models: ReadModels;
  readonly ours: Ours;
  readonly logId: string;
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** Called when another log has taken the place of the one that was followed. */
  readonly replaced: () => void;
}): Promise<Checkpointer> => {
  const { config, store, subscribe, models, ours, logId, secrets, clock, replaced } = parts;
  const origin = originOf(logId);
  const signers = signersOf(origin, secrets.masterKey);
  await ensureFirstKey(store, signers, clock);
  const sinks = openSinks({
    addresses: config.AUDIT_SINKS ?? [],
    log: {
      leaves: () => auditTreeHashes(models),
      size: () => auditTreeHead(models)?.tree.size ?? 0,
      covered: () => coveredFrom(store, signers, auditTreeHead(models)?.revision ?? 0),
    },
  });
  let brought: Promise<void> = Promise.resolve();
  const bring = (checkpoint: SignedCheckpoint, position: bigint): void => {
    if (config.AUDIT_SINKS === undefined) return;
    const shown = models.reached(position, shownMs, [auditTreeSteps]);
    brought = brought.then(() => shown).then(() => sinks.bring(checkpoint));
  };
  return startCheckpoints({
    store: {
      ...store,
      subscribe,
      get state() {
        return store.state;
      },
    },
    ours,
    origin,
    signers,
    clock,
    isThere: () => models.whole(auditTree.tables),
    head: () => auditTreeHead(models),
    leaves: { at: (level, index) => auditTreeHashes(models).at(level, index) },
    // Also the newest one at the start: an earlier process may have ended before it reached a sink.
    signed: bring,
    replaced,
    async closed() {
      await brought;
      await sinks.close();
    },
  });
};
