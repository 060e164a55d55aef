import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import grpc from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { type Embedded, startEmbedded } from '../../src/embedded/index.ts';
import { selfSigned } from '../embedded/self-signed.ts';
import { connect, freshDir, openStore } from '../embedded/store-under-test.ts';
import { collect, events, fresh } from './events.ts';
import { hear } from './hear.ts';
import { embeddedTest, given } from './target.ts';

const onTcp = async (work: (store: Embedded) => Promise<void>): Promise<void> => {
  const store = await startEmbedded({ dir: freshDir(), port: 0 });
  try {
    await work(store);
  } finally {
    await store.close();
  }
};

/** What gossip says there, of a client that calls it `authority`. */
const membersAt = async (endpoint: string, authority = endpoint) => {
  const client = new gossipService.GossipClient(endpoint, grpc.credentials.createInsecure(), {
    'grpc.default_authority': authority,
  });
  const info = await new Promise<ClusterInfo>((resolve, reject) =>
    client.read(new shared.Empty(), (error, response) => (error ? reject(error) : resolve(response))),
  );
  client.close();
  return info.getMembersList().map((member) => {
    const at = member.getHttpEndPoint()!;
    return { isAlive: member.getIsAlive(), state: member.getState(), at: `${at.getAddress()}:${at.getPort()}` };
  });
};

/** Writes and reads by way of a connection string. */
const useBy = async (url: string): Promise<void> => {
  const client = EventStoreDBClient.connectionString(url);
  const stream = fresh();
  await client.appendToStream(stream, events(1));
  expect(await collect(client.readStream(stream))).toHaveLength(1);
  await client.dispose();
};

describe('a server is found', () => {
  test('47 where it is the single host', async () => {
    if (given !== undefined) await useBy(given);
    else await onTcp(({ endpoint }) => useBy(`esdb://${endpoint}?tls=false`));
  });

  embeddedTest('47 by gossip, from one seed and from several of which some are dead', () =>
    onTcp(async ({ endpoint }) => {
      for (const url of [
        `esdb+discover://${endpoint}?tls=false`,
        `esdb://127.0.0.1:1,${endpoint},127.0.0.1:1?tls=false`,
      ]) {
        await useBy(`${url}&nodePreference=leader&discoveryInterval=50`);
      }
    }),
  );

  embeddedTest('47 by gossip under the name that it was asked by, for which it has its certificate', async () => {
    const { cert, key } = selfSigned(['localhost']);
    const dir = freshDir();
    const ca = join(dir, 'ca.crt');
    writeFileSync(ca, cert);
    const user = { name: 'svc', password: 'pass' };
    const store = await startEmbedded({ dir: join(dir, 'store'), port: 0, tls: { cert, key }, user });
    const port = store.endpoint.split(':')[1]!;
    await useBy(
      `esdb+discover://svc:pass@localhost:${port}?tlsCAFile=${ca}&nodePreference=leader&discoveryInterval=50`,
    );
    await store.close();
  });

  embeddedTest('47 by gossip where it says that it is, if it has been told so', async () => {
    const store = await startEmbedded({ dir: freshDir(), port: 0, advertise: { host: 'store.test', port: 9000 } });
    expect(await membersAt(store.endpoint)).toEqual([{ isAlive: true, state: 8, at: 'store.test:9000' }]);
    await store.close();
  });

  embeddedTest('47 on a unix socket', async () => {
    const store = await startEmbedded({ dir: freshDir() });
    expect(store.endpoint).toMatch(/^unix:/);
    const client = connect(store.endpoint);
    await client.appendToStream('unix-1', events(1));
    expect(await collect(client.readStream('unix-1'))).toHaveLength(1);
    await client.dispose();
    await store.close();
  });

  embeddedTest('47 gossip names one member that is alive and leads, at the port in use', () =>
    onTcp(async ({ endpoint }) => {
      expect(await membersAt(endpoint)).toEqual([{ isAlive: true, state: 8, at: endpoint }]);
      // As whoever is asked by way of another address, such as a forwarded port, has to be called.
      for (const at of ['events.internal:2113', '[::1]:2113']) {
        const [member] = await membersAt(endpoint, at);
        expect(member!.at).toBe(at);
      }
      const [nameless] = await membersAt(endpoint, 'events.internal');
      expect(nameless!.at).toBe(`events.internal:${endpoint.split(':')[1]}`);
    }),
  );
});

/**
 * Six rounds of pings either way, as a minute brings at the intervals that are usual. The embedded server is asked with
 * intervals that are a tenth of those; another server cannot be told its interval, so there it is a minute indeed.
 */
const idle = given === undefined ? { ms: 6000, pingMs: 1000 } : { ms: 60_000, pingMs: 10_000 };

test(`49 a connection on which nothing happens for ${idle.ms} ms lives on by its pings`, {
  timeout: idle.ms + 20_000,
}, async () => {
  const keepAlive = { keepAliveInterval: idle.pingMs, keepAliveTimeout: idle.pingMs };
  let client: EventStoreDBClient;
  if (given === undefined) {
    const { endpoint } = await openStore({ pings: { everyMs: idle.pingMs, withinMs: idle.pingMs } });
    client = new EventStoreDBClient({ endpoint, ...keepAlive }, { insecure: true });
  } else {
    const separator = given.includes('?') ? '&' : '?';
    const query = Object.entries(keepAlive).map((pair) => pair.join('='));
    client = EventStoreDBClient.connectionString(given + separator + query.join('&'));
  }
  const stream = fresh();
  const subscription = client.subscribeToStream(stream);
  const heard = hear(subscription);
  const failed: Error[] = [];
  subscription.on('error', (error) => failed.push(error));
  await heard.caughtUp();
  await wait(idle.ms);
  await client.appendToStream(stream, events(1));
  await heard.until(({ events }) => events.length === 1);
  expect(failed).toEqual([]);
  expect(heard.said).not.toContain('end');
  await heard.stop();
  await client.dispose();
});
