import { existsSync } from 'node:fs';
import { join } from 'node:path';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import persistentService from '@eventstore/db-client/generated/persistent_grpc_pb.js';
import persistent from '@eventstore/db-client/generated/persistent_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import grpc from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import {
  collect,
  connect,
  errorOf,
  freshDir,
  numbered,
  openStore,
  rejection,
  serveInChild,
} from './store-under-test.ts';

describe('in a worker thread', () => {
  test('the store serves, closes and opens again with what it had', async () => {
    const dir = freshDir();
    for (let round = 0; round < 2; round++) {
      const store = await startEmbedded({ dir });
      const client = connect(store.endpoint);
      await client.appendToStream('worker-1', numbered(round));
      expect(await collect(client.readStream('worker-1'))).toHaveLength(round + 1);
      await client.dispose();
      await store.close();
      expect(existsSync(join(dir, 'eventstore.sock'))).toBe(false);
    }
  });

  test('a damaged store is refused by name, as without the thread', async () => {
    const dir = freshDir();
    const store = await startEmbedded({ dir, inThread: true });
    await store.close();
    const { writeFileSync } = await import('node:fs');
    writeFileSync(join(dir, 'events.mdb'), Buffer.alloc(8192, 1));
    expect((await rejection(startEmbedded({ dir }))).name).toBe('StoreCorrupt');
  });
});

describe('a graceful end', () => {
  test('answers the appends in progress and ends subscriptions with UNAVAILABLE', async () => {
    const store = await openStore({ faults: { commitDelayMs: 100 } });
    const warm = await store.client.appendToStream('end-0', numbered(0));
    expect(warm.success).toBe(true);
    const subscription = store.client.subscribeToStream('end-1');
    const ended = errorOf(subscription);
    await new Promise<void>((resolve) => subscription.on('caughtUp', () => resolve()));
    const appends = Array.from({ length: 5 }, (_, i) => store.client.appendToStream(`end-${i + 1}`, numbered(i)));
    const settled = Promise.allSettled(appends);
    // The store has the appends in hand once the disk is busy with them.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await store.close();
    expect((await settled).map(({ status }) => status)).toEqual(Array(5).fill('fulfilled'));
    expect((await ended).type).toBe('unavailable');
    const again = await openStore({ dir: store.dir });
    expect(await collect(again.client.readAll())).toHaveLength(6);
  });

  test('of a process by SIGTERM leaves neither lock nor socket', async () => {
    const dir = freshDir();
    const child = await serveInChild(dir, { embedded: true });
    await connect(child.endpoint).appendToStream('term-1', numbered(1));
    child.process.kill('SIGTERM');
    await child.exited;
    const { readdirSync } = await import('node:fs');
    expect(readdirSync(dir).filter((name) => !/^(events\.mdb|ballast)/.test(name))).toEqual([]);
  });
});

test('one client object goes on after its store was killed and started again', async () => {
  const dir = freshDir();
  const first = await serveInChild(dir, { embedded: true });
  const client = connect(first.endpoint);
  await client.appendToStream('reconnect-1', numbered(1));
  first.process.kill('SIGKILL');
  await first.exited;
  await client.appendToStream('reconnect-1', numbered(2)).catch(() => {});
  await serveInChild(dir, { embedded: true });
  const event = numbered(3);
  for (let attempt = 0; ; attempt++) {
    try {
      await client.appendToStream('reconnect-2', event, { expectedRevision: 'no_stream' });
      break;
    } catch (error) {
      if (attempt === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  expect(await collect(client.readStream('reconnect-2'))).toHaveLength(1);
});

test('gossip names one member that is alive and leads, at the port in use', async () => {
  const store = await startEmbedded({ dir: freshDir(), port: 0, inThread: true });
  const client = new gossipService.GossipClient(store.endpoint, grpc.credentials.createInsecure());
  const info = await new Promise<ReturnType<typeof toMembers>>((resolve, reject) =>
    client.read(new shared.Empty(), (error, response) => (error ? reject(error) : resolve(toMembers(response)))),
  );
  expect(info).toEqual([{ isAlive: true, state: 8, endpoint: store.endpoint }]);
  client.close();
  await store.close();
});

function toMembers(info: import('@eventstore/db-client/generated/gossip_pb.js').ClusterInfo) {
  return info.getMembersList().map((member) => ({
    isAlive: member.getIsAlive(),
    state: member.getState(),
    endpoint: `${member.getHttpEndPoint()!.getAddress()}:${member.getHttpEndPoint()!.getPort()}`,
  }));
}

describe('what is not implemented', () => {
  test('says so, except that there are no persistent subscriptions to list', async () => {
    const { endpoint } = await openStore();
    const client = new persistentService.PersistentSubscriptionsClient(endpoint, grpc.credentials.createInsecure());
    const create = await new Promise<grpc.ServiceError>((resolve) =>
      client.create(new persistent.CreateReq(), (error) => resolve(error!)),
    );
    expect(create.code).toBe(grpc.status.UNIMPLEMENTED);
    const list = await new Promise<grpc.ServiceError>((resolve) =>
      client.list(new persistent.ListReq(), (error) => resolve(error!)),
    );
    expect(list.metadata.getMap().exception).toBe('persistent-subscription-does-not-exist');
    client.close();
  });
});
