import { auditTreeHashes, auditTreeHead, auditTreeSteps } from '../../projections/audit-tree.ts';
import { checkpointOf } from '../audit/log/checkpoint-event.ts';
import { type Checkpointer, startCheckpoints } from '../audit/log/checkpointer.ts';
import { ensureKey, originOf, type Signers } from '../audit/log/keys.ts';
import { checkpointStream } from '../audit/log/leaf.ts';
import { openSinks } from '../audit/log/sinks.ts';
import type { Clock, Millis } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Ours } from '../kernel/ownership.ts';
import type { ReadModels } from '../kernel/projection.ts';
import type { EventStore } from '../kernel/store.ts';
import type { SignedCheckpoint } from '../merkle/checkpoint.ts';
import { isSignedWith, signerOf } from '../merkle/note.ts';
import { auditKeySeed } from '../secrets/audit-key.ts';
import type { Secrets } from '../secrets/master-secrets.ts';

/** Longest wait for the tree to show a checkpoint, before it goes out. */
const shownMs: Millis = 5_000;

/** The keys of one log, by their numbers. */
export const signersOf = (secrets: Secrets, logId: string): Signers => {
  const known = new Map<number, ReturnType<Signers>>();
  return (number) => {
    const signer = known.get(number) ?? signerOf(originOf(logId), auditKeySeed(secrets.masterKey, logId, number));
    known.set(number, signer);
    return signer;
  };
};

/** A checkpoint on its stream, as long as it is one of ours: whether it follows those before, the tree judges. */
const checkpointAt = async (store: EventStore, revision: number, signers: Signers) => {
  for await (const event of store.read(checkpointStream, { from: revision, limit: 1 })) {
    const said = checkpointOf(event);
    const isOurs = said !== undefined && isSignedWith(said.checkpoint.note, signers(said.key).verifier);
    return isOurs ? { checkpoint: said.checkpoint, position: event.position } : undefined;
  }
  return undefined;
};

/** Signs the log's tree and brings the checkpoints to the sinks. */
export const keepAuditLog = async (parts: {
  readonly config: Config;
  readonly store: EventStore;
  /** The same, with the subscription that all share. */
  readonly subscribe: EventStore['subscribe'];
  readonly models: ReadModels;
  readonly ours: Ours;
  readonly logId: string;
  readonly secrets: Secrets;
  readonly clock: Clock;
}): Promise<Checkpointer> => {
  const { config, store, subscribe, models, ours, logId, secrets, clock } = parts;
  const signers = signersOf(secrets, logId);
  await ensureKey(store, signers, clock);
  const sinks = openSinks({ addresses: config.AUDIT_SINKS ?? [], leaves: () => auditTreeHashes(models) });
  let brought: Promise<void> = Promise.resolve();
  const bring = (checkpoint: SignedCheckpoint, position: bigint): void => {
    if (config.AUDIT_SINKS === undefined) return;
    const shown = models.reached(position, shownMs, [auditTreeSteps]);
    brought = brought.then(() => shown).then(() => sinks.bring(checkpoint));
  };
  // Who ran before may have ended between a signature and a sink, or had other sinks.
  const head = auditTreeHead(models);
  const before = head && (await checkpointAt(store, head.revision, signers));
  if (before) bring(before.checkpoint, before.position);
  const checkpointer = await startCheckpoints({
    store: {
      append: store.append,
      read: store.read,
      subscribe,
      get state() {
        return store.state;
      },
    },
    ours,
    origin: originOf(logId),
    signers,
    clock,
    head: () => auditTreeHead(models),
    leaves: { at: (level, index) => auditTreeHashes(models).at(level, index) },
    signed: bring,
  });
  return {
    get stopped() {
      return checkpointer.stopped;
    },
    beginAgain: checkpointer.beginAgain,
    async close() {
      await checkpointer.close();
      await brought;
      await sinks.close();
    },
  };
};
