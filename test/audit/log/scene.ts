import { createHash, randomUUID } from 'node:crypto';
import { auditTree, auditTreeHashes, auditTreeHead } from '../../../projections/audit-tree.ts';
import { type CheckpointerOptions, startCheckpoints } from '../../../src/audit/log/checkpointer.ts';
import { ensureKey, originOf, type Signers } from '../../../src/audit/log/keys.ts';
import { whose } from '../../../src/domain/streams.ts';
import { logEvent } from '../../../src/kernel/log-event.ts';
import { oursOf } from '../../../src/kernel/ownership.ts';
import type { Metadata, NewEvent } from '../../../src/kernel/store.ts';
import type { SignedCheckpoint } from '../../../src/merkle/checkpoint.ts';
import { signerOf } from '../../../src/merkle/note.ts';
import { auditKeySeed } from '../../../src/secrets/audit-key.ts';
import { memoryModels } from '../../support/memory-models.ts';
import { type MemoryStore, memoryStore } from '../../support/memory-store.ts';

const logId = '3f0c6c1e-6a0b-4b3c-9d55-0a4c8f5c2b11';
export const origin = originOf(logId);
export const signersOf = (master: string): Signers => {
  const key = createHash('sha256').update(master).digest();
  return (number) => signerOf(origin, auditKeySeed(key, logId, number));
};
export const signers = signersOf('master');
export const clock = { wall: () => 1_000, monotonic: () => performance.now() };

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
  await ensureKey(store, signers, clock);
  return store;
};

/** A gateway as far as the audit log is concerned. */
export const gateway = async (store: MemoryStore, options: Partial<CheckpointerOptions> = {}) => {
  const models = memoryModels(store, [auditTree]);
  const seen: SignedCheckpoint[] = [];
  const end = store.log.at(-1)?.position;
  if (end !== undefined) await models.reached(end, 5_000);
  const checkpointer = await startCheckpoints({
    store,
    ours: oursOf(whose),
    origin,
    signers,
    clock,
    head: () => auditTreeHead(models),
    leaves: { at: (level, index) => auditTreeHashes(models).at(level, index) },
    signed: (checkpoint) => seen.push(checkpoint),
    delayMs: 0,
    ...options,
  });
  return { models, seen, checkpointer };
};
