/** A log of a million events, signed: what it takes to verify it, to prove one of them, to replay, and to make the read models anew. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { projections } from '../../projections/all.ts';
import { auditTreeHashes, auditTreeHead, auditTreeIndex } from '../../projections/audit-tree.ts';
import { allAggregates } from '../../src/app/aggregates.ts';
import { effectiveIn, standingIn } from '../../src/audit/effective.ts';
import { standingAt } from '../../src/audit/history.ts';
import { newCheckpoint } from '../../src/audit/log/checkpoint-event.ts';
import { startCheckpoints } from '../../src/audit/log/checkpointer.ts';
import { ensureFirstKey, originOf, signersOf } from '../../src/audit/log/keys.ts';
import { leafOf } from '../../src/audit/log/leaf.ts';
import { proofOf } from '../../src/audit/log/proof.ts';
import { verifyLog } from '../../src/audit/log/verify/verify.ts';
import { pastOf } from '../../src/audit/past.ts';
import { systemClock } from '../../src/clock.ts';
import { lasts, whose } from '../../src/domain/streams.ts';
import { startEmbedded } from '../../src/embedded/index.ts';
import { openArchive } from '../../src/eventstoredb/archive.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { newId } from '../../src/ids.ts';
import { openReadModels, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { canonicalEvent, hashOf } from '../../src/kernel/store/event-hash.ts';
import { logIdOf } from '../../src/kernel/store/log-id.ts';
import { oursOf } from '../../src/kernel/store/ownership.ts';
import type { Actor, EventStore, Recorded } from '../../src/kernel/store/store.ts';
import { parsedCheckpoint } from '../../src/merkle/checkpoint.ts';
import { noLeaves } from '../../src/merkle/frontier.ts';
import { secretsFrom } from '../../src/secrets/master-secrets.ts';
import { serveParent } from '../machine/parent.ts';
import { seed } from '../seed/organization.ts';
import { cpuMicros } from './traffic.ts';

export type AuditOrder =
  | { readonly is: 'fill'; readonly dir: string; readonly keys: number }
  | { readonly is: 'rebuild' | 'prove' | 'verify' | 'judge' | 'replay' | 'count' | 'command' };

/** What one answer took. */
export interface AuditSample {
  readonly count: number;
  /** Of the process with the store's thread. */
  readonly cpuSeconds: number;
  readonly seconds: number;
}

/** What a command pays for the chain and its leaf, beside all that it takes. */
export interface CommandSample extends AuditSample {
  readonly auditSeconds: number;
}

const actor: Actor = { type: 'operator', id: 'bench' };
const secrets = secretsFrom({ pepper: '1'.repeat(64), master_key: '2'.repeat(64) });

interface World {
  readonly dir: string;
  readonly store: EventStore;
  readonly logId: string;
  /** A project with as many keys as it can have, each of which is an event of its own stream and one of the project's. */
  readonly projectId: string;
}
let world: World | undefined;
let models: ReadModels | undefined;
const there = (): World => {
  if (!world) throw new Error('nothing was filled');
  return world;
};

const all = (store: EventStore) =>
  store.readAll({ from: 'start', direction: 'forwards', limit: Number.MAX_SAFE_INTEGER });

const timed = async (count: number, work: () => Promise<unknown>): Promise<AuditSample> => {
  const [cpu, began] = [cpuMicros(), performance.now()];
  await work();
  return { count, cpuSeconds: (cpuMicros() - cpu) / 1e6, seconds: (performance.now() - began) / 1000 };
};

const fill = async (dir: string, keys: number): Promise<AuditSample> => {
  const embedded = await startEmbedded({ dir: join(dir, 'events') });
  const archive = openArchive({ endpoint: embedded.endpoint });
  const store = connect({ endpoint: embedded.endpoint });
  const logId = await logIdOf(store, systemClock);
  const signers = signersOf(originOf(logId), secrets.masterKey);
  await ensureFirstKey(store, signers, systemClock);
  // As a gateway does while others write.
  const signed = await startCheckpoints({
    store,
    ours: oursOf(whose),
    origin: originOf(logId),
    signers,
    clock: systemClock,
    head: () => undefined,
    leaves: auditTreeHashes({ get: () => undefined }),
    signed: () => {},
    replaced: () => {},
  });
  let projectId = '';
  const sample = await timed(keys, () =>
    seed(
      { name: 'Audited', projects: Math.ceil(keys / 1_000), keys, tier: 5 },
      {
        archive,
        secrets,
        clock: systemClock,
        actor,
        begins: async () => {},
        made(key) {
          projectId ||= key.project_id;
          return undefined;
        },
        stop: new AbortController().signal,
      },
    ),
  );
  while ((await covered(store)) < 2 * keys) await wait(500);
  await signed.close();
  world = { dir, store, logId, projectId };
  return { ...sample, count: await covered(store) };
};

/** Leaves that are signed. */
const covered = async (store: EventStore): Promise<number> => {
  for await (const { data } of store.readAll({ from: 'end', direction: 'backwards', limit: 5_000 })) {
    const size = typeof data.note === 'string' ? parsedCheckpoint(data.note)?.size : undefined;
    if (size !== undefined) return size;
  }
  return 0;
};

const rebuild = async (): Promise<AuditSample> => {
  const { dir, store, logId } = there();
  return timed(await covered(store), async () => {
    models = await openReadModels({ dir: join(dir, 'rows'), store, logId, projections, ours: oursOf(whose), lasts });
  });
};

const someEvents = async (store: EventStore, most: number): Promise<Recorded[]> => {
  const found: Recorded[] = [];
  for await (const event of all(store)) {
    found.push(event);
    if (found.length === most) break;
  }
  return found;
};

const proofs = 1_000;
const prove = async (): Promise<AuditSample> => {
  if (!models) throw new Error('the read models are not there');
  const { store } = there();
  const rows = models;
  const events = (await someEvents(store, 200_000)).filter((event, i) => i % 200 === 0 && whose(event) === 'ours');
  const note = parsedCheckpoint(auditTreeHead(rows)?.note ?? '');
  const size = note?.size ?? 0;
  return timed(Math.min(proofs, events.length), async () => {
    for (const event of events.slice(0, proofs)) {
      const leaves = auditTreeHashes(rows);
      const canonical = canonicalEvent(event);
      const index = auditTreeIndex(rows, leafOf(event).hash, event.position);
      if (!proofOf(event, { canonical, leaves, indexOf: () => index, size })) throw new Error('no proof');
    }
  });
};

const verify = async (log: AsyncIterable<Recorded>, count: number): Promise<AuditSample> =>
  timed(count, async () => {
    const trusted = [signersOf(originOf(there().logId), secrets.masterKey)(1).verifier];
    const { findings } = await verifyLog(log, { trusted, against: [], now: systemClock.wall() });
    if (findings.length > 0) throw new Error(`a sound log has ${findings.length} findings`);
  });

/** What is judged is in memory: reading is the store's part. */
const judge = async (): Promise<AuditSample> => {
  const events = await someEvents(there().store, 300_000);
  return verify(
    (async function* () {
      yield* events;
    })(),
    events.length,
  );
};

const replays = 20;
/** @param isCounted whether its keys are read as well, to say how many could be used */
const replay = async (isCounted: boolean): Promise<AuditSample> => {
  const { store, projectId } = there();
  return timed(replays, async () => {
    for (let n = 0; n < replays; n++) {
      const past = pastOf(store);
      const found = standingAt(await past.life(projectId), { time: systemClock.wall() });
      await (isCounted ? effectiveIn : standingIn)(past, found, systemClock.wall());
    }
  });
};

const commands = 1_000;
const command = async (): Promise<CommandSample> => {
  const { store } = there();
  const { organization } = allAggregates(store);
  const ids = Array.from({ length: commands }, () => newId('org', systemClock));
  const positions: Promise<unknown>[] = [];
  const sample = await timed(commands, async () => {
    for (const id of ids) {
      const made = organization.dispatch(
        id,
        'create',
        { name: 'One of many', at: systemClock.wall() },
        { actor, commandId: randomUUID() },
      );
      positions.push(made);
      if (positions.length % 16 === 0) await made;
    }
    await Promise.all(positions);
  });
  const events: Recorded[] = [];
  for (const id of ids) for await (const event of store.read(`organization-${id}`)) events.push(event);
  // The hash that the next event names, the one of the leaf, and a share of a checkpoint with as many leaves as come in 0.75 s.
  const signer = signersOf(originOf(there().logId), secrets.masterKey)(1);
  const parts = { anchor: null, origin: originOf(there().logId), key: 1, signer, clock: systemClock };
  const own = await timed(commands, async () => {
    for (const event of events) if (hashOf(event) === '') throw new Error('never');
    const leaves = events.map((event) => leafOf(event));
    newCheckpoint({ ...parts, tree: noLeaves, leaves });
  });
  return { ...sample, auditSeconds: own.cpuSeconds };
};

serveParent(async (question) => {
  const order = question as AuditOrder;
  if (order.is === 'fill') return fill(order.dir, order.keys);
  if (order.is === 'rebuild') return rebuild();
  if (order.is === 'prove') return prove();
  if (order.is === 'verify') return verify(all(there().store), await covered(there().store));
  if (order.is === 'judge') return judge();
  if (order.is === 'command') return command();
  return replay(order.is === 'count');
});
