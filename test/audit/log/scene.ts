import { createHash, randomUUID } from 'node:crypto';
import { auditTree, auditTreeHashes, auditTreeHead } from '../../../projections/audit-tree.ts';
import { startCheckpoints } from '../../../src/audit/log/checkpointer.ts';
import { ensureFirstKey, originOf, type Signers, signersOf as signersFrom } from '../../../src/audit/log/keys.ts';
import { keyStream } from '../../../src/audit/log/leaf.ts';
import type { CheckpointerOptions } from '../../../src/audit/log/signing.ts';
import { lasts, whose } from '../../../src/domain/streams.ts';
import { markLog } from '../../../src/kernel/followers/log-mark.ts';
import { shareSubscription } from '../../../src/kernel/followers/shared-subscription.ts';
import { freshness } from '../../../src/kernel/projections/freshness.ts';
import { logEvent } from '../../../src/kernel/store/log-event.ts';
import { oursOf } from '../../../src/kernel/store/ownership.ts';
import type { Metadata, NewEvent, Recorded } from '../../../src/kernel/store/store.ts';
import type { SignedCheckpoint } from '../../../src/merkle/checkpoint.ts';
import { memoryModels } from '../../support/memory-models.ts';
import { type MemoryStore, memoryStore } from '../../support/memory-store.ts';

const logId = '3f0c6c1e-6a0b-4b3c-9d55-0a4c8f5c2b11';
export const origin = originOf(logId);
export const signersOf = (master: string): Signers => signersFrom(origin, createHash('sha256').update(master).digest());
export const signers = signersOf('master');
let now = 1_000;
/** No two events are of one moment. */
export const clock = { wall: () => ++now, monotonic: () => performance.now() };

/** The event as it may be written once more. */
export const copyOf = ({ id, type, data, metadata }: NewEvent): NewEvent => ({ id, type, data, metadata });

const idOf = (prefix: string, n: number): string => `${prefix}_${String(n).padStart(26, '0')}`;
const metadata = (): Metadata => {
  const id = randomUUID();
  return { at: 5, actor: { type: 'operator', id: 'op' }, $correlationId: id, $causationId: id, v: 1 };
};
const event = (type: string, data: Record<string, unknown> = {}): NewEvent => ({
  id: randomUUID(),
  type,
  data,
  metadata: metadata(),
});

/** Writes to some stream of Weir's what could be there: of an aggregate, a record, or one that is removed one day. */
export const write = (store: MemoryStore, kind: number, n: number): void => {
  // Long ago: what is of that day may be gone.
  const day = `2020112${n % 10}`;
  if (kind === 0) store.plant(`organization-${idOf('org', n)}`, [event('organization.created', { name: `n${n}` })]);
  if (kind === 1) store.plant(`project-${idOf('proj', n)}`, [event('project.updated', { name: `p${n}é` })]);
  if (kind === 2)
    store.plantAsIs(`credentialUse-${day}`, [event('credential.used', { used: { [idOf('key', n)]: n } })]);
  if (kind === 3) store.plant(`oauthToken-${idOf('oat', n)}`, [event('oauth_token.issued', { n })]);
  if (kind === 4) store.plantAsIs(`replay-${idOf('key', n)}`, [event('replay.sealed', { n })]);
};

export const begun = async (options: Parameters<typeof memoryStore>[0] = {}): Promise<MemoryStore> => {
  const store = memoryStore(options);
  store.plantAsIs('log-id', [logEvent(logId, 'log-id', 'log.started', { log_id: logId }, clock)]);
  await ensureFirstKey(store, signers, clock);
  return store;
};

/** What whoever can append to the store can write, without any secret: a key that is his own. */
export const plantKey = (store: MemoryStore, number: number, by: Signers = signersOf('forger')): Recorded => {
  const data = { number, public_key: by(number).verifier.text, note: null };
  const event = logEvent(randomUUID(), keyStream, 'audit.key_rotated', data, clock);
  return store.plantAsIs(keyStream, [event])[0]!;
};

/** A gateway as far as the audit log is concerned. */
export const gateway = async (store: MemoryStore, options: Partial<CheckpointerOptions> = {}) => {
  const ours = oursOf(whose);
  const mark = await markLog(store, { logId, lasts, ours });
  const shared = shareSubscription(store, mark);
  const { append, read, readAll } = store;
  const { subscribe } = shared;
  const models = memoryModels({ subscribe }, [auditTree]);
  const seen: SignedCheckpoint[] = [];
  const end = store.log.at(-1)?.position;
  if (end !== undefined) await models.reached(end, 5_000);
  const checkpointer = await startCheckpoints({
    store: {
      append,
      read,
      readAll,
      subscribe,
      get state() {
        return store.state;
      },
    },
    ours,
    origin,
    signers,
    clock,
    head: () => auditTreeHead(models),
    leaves: { at: (level, index) => auditTreeHashes(models).at(level, index) },
    signed: (checkpoint) => seen.push(checkpoint),
    replaced: () => fresh.replaced('what was signed is not in it'),
    delayMs: 0,
    retryMs: 20,
    ...options,
  });
  const fresh = freshness({
    store,
    models,
    clock,
    reliedOn: [],
    mark,
    async replaced(why) {
      mark.forget();
      await Promise.all([checkpointer.leave(), shared.leave()]);
      await models.rebuild(why);
      await checkpointer.beginAgain();
    },
  });
  return { models, seen, checkpointer, fresh };
};
