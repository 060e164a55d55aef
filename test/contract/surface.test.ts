import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
} from '@eventstore/db-client';
import grpc from '@grpc/grpc-js';
import { describe, expect } from 'vitest';
import { openStore } from '../embedded/store-under-test.ts';
import { collect, refusal } from './events.ts';
import { embeddedTest } from './target.ts';

/** What the server does, by the last two parts of the path. `List` says that there are none. */
const implemented = new Set([
  'Streams/Read',
  'Streams/Append',
  'Streams/BatchAppend',
  'Streams/Delete',
  'Streams/Tombstone',
  'Gossip/Read',
  'ServerFeatures/GetSupportedMethods',
  'PersistentSubscriptions/List',
]);

/** Every method that the client's own description of the protocol has; those between the nodes of a cluster are no concern of clients. */
const methods = [
  'gossip',
  'monitoring',
  'operations',
  'persistent',
  'projections',
  'serverfeatures',
  'streams',
  'users',
]
  .map((name) => createRequire(import.meta.url)(`@eventstore/db-client/generated/${name}_grpc_pb.js`) as object)
  .flatMap((exported) => Object.entries(exported).filter(([name]) => name.endsWith('Service')))
  .flatMap(([, service]) => Object.values(service as Record<string, { path: string }>).map(({ path }) => path));

const shortOf = (path: string): string => path.split('.').at(-1)!;
const missing = methods.filter((path) => !implemented.has(shortOf(path)));

/** The status with which a call ends that sends one empty message, whatever comes before. */
const codeOf = (endpoint: string, path: string): Promise<grpc.status> => {
  const client = new grpc.Client(endpoint, grpc.credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  return new Promise<grpc.status>((resolve) => {
    const call = client.makeBidiStreamRequest(path, same, same, { deadline: Date.now() + 5000 });
    call.on('error', () => {}).on('status', ({ code }) => resolve(code));
    call.resume();
    call.write(Buffer.alloc(0));
    call.end();
  }).finally(() => client.close());
};

describe('the protocol beyond what is implemented', () => {
  embeddedTest('50 is UNIMPLEMENTED, method by method, and nothing else is', async () => {
    const { endpoint } = await openStore();
    expect(methods.length).toBeGreaterThan(40);
    const unimplemented: string[] = [];
    for (const path of [...methods, '/event_store.client.streams.Streams/NoSuchMethod', '/no.such.Service/Method']) {
      if ((await codeOf(endpoint, path)) === grpc.status.UNIMPLEMENTED) unimplemented.push(shortOf(path));
    }
    expect(unimplemented).toEqual([...missing.map(shortOf), 'Streams/NoSuchMethod', 'Service/Method']);
  });

  embeddedTest('50 is what the README of the store says it is', () => {
    const readme = readFileSync(new URL('../../src/embedded/README.md', import.meta.url), 'utf8');
    const rows = [...readme.matchAll(/^\| `([A-Z]\w+)` +\| ([\w, ]+?) *\|/gm)];
    const said = rows.flatMap(([, service, names]) => names!.split(', ').map((name) => `${service}/${name}`));
    expect(said.sort()).toEqual(missing.map(shortOf).sort());
  });

  embeddedTest(
    '50 is refused on gRPC, where the client would fall back to HTTP, and clean-ups find nothing to do',
    async () => {
      const { client } = await openStore();
      const list = await refusal(client.listAllPersistentSubscriptions());
      expect(list.type).toBe('persistent-subscription-does-not-exist');
      for (const call of [
        () => client.getPersistentSubscriptionToStreamInfo('s-1', 'group'),
        () => client.replayParkedMessagesToAll('group'),
        () =>
          client.createPersistentSubscriptionToStream(
            's-1',
            'group',
            persistentSubscriptionToStreamSettingsFromDefaults(),
          ),
        () => client.createPersistentSubscriptionToAll('group', persistentSubscriptionToAllSettingsFromDefaults()),
        () => client.updatePersistentSubscriptionToAll('group', persistentSubscriptionToAllSettingsFromDefaults()),
        () => client.deletePersistentSubscriptionToAll('group'),
        () => collect(client.subscribeToPersistentSubscriptionToAll('group')),
        () => client.getPersistentSubscriptionToAllInfo('group'),
        () => client.restartPersistentSubscriptionSubsystem(),
      ]) {
        expect((await refusal(call())).code).toBe(grpc.status.UNIMPLEMENTED);
      }
    },
  );
});
