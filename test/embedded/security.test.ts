import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventStoreDBClient } from '@eventstore/db-client';
import grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';
import { selfSigned } from './self-signed.ts';
import { collect, connect, errorOf, freshDir, numbered, openStore, rejection } from './store-under-test.ts';

const tls = selfSigned();
const user = { name: 'svc', password: 'päss:word' };
const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step().catch(() => {});
});

async function secure(options: object = { tls, user }) {
  const store = await openStore({ listen: { port: 0 }, ...options });
  const ca = join(freshDir(), 'ca.crt');
  writeFileSync(ca, tls.cert);
  const port = store.endpoint.split(':')[1];
  const at = (credentials: string, query = `tlsCAFile=${ca}`) => {
    const client = EventStoreDBClient.connectionString(`esdb://${credentials}localhost:${port}?${query}`);
    undo.push(() => client.dispose());
    return client;
  };
  return { at, port, right: `svc:${encodeURIComponent(user.password)}@` };
}

describe('with TLS and a user', () => {
  test('the one with the password may do everything', async () => {
    const { at, right } = await secure();
    const client = at(right);
    const subscription = client.subscribeToStream('safe-1');
    const seen = new Promise((resolve) => subscription.on('data', resolve));
    await client.appendToStream('safe-1', numbered(1));
    await client.appendToStream('safe-1', numbered(2), {
      credentials: { username: user.name, password: user.password },
    });
    await seen;
    expect(await collect(client.readStream('safe-1'))).toHaveLength(2);
    await client.deleteStream('safe-1');
  });

  test('a wrong password is access-denied with code 16, on every path', async () => {
    const { at } = await secure();
    const client = at('svc:wrong@');
    const credentials = { username: 'other', password: user.password };
    for (const call of [
      () => collect(client.readAll()),
      () => client.appendToStream('safe-2', numbered(1)),
      () => client.appendToStream('safe-2', numbered(1), { credentials }),
      () => client.deleteStream('safe-2'),
      () => errorOf(client.subscribeToAll()).then((error) => Promise.reject(error)),
    ]) {
      expect(await rejection(call())).toMatchObject({ type: 'access-denied', code: 16 });
    }
  });

  test.each([
    ['a wrong password has the code alone', `Basic ${Buffer.from('svc:wrong').toString('base64')}`, [16, []]],
    ['nobody in particular has the words too', undefined, [7, ['access-denied']]],
  ])('%s, as on a real node: other clients go by them', async (_, authorization, answer) => {
    const { port } = await secure();
    const client = new grpc.Client(`localhost:${port}`, grpc.credentials.createSsl(Buffer.from(tls.cert)));
    undo.push(async () => client.close());
    const metadata = new grpc.Metadata();
    if (authorization !== undefined) metadata.set('authorization', authorization);
    const same = (bytes: Buffer) => bytes;
    const path = '/event_store.client.streams.Streams/Read';
    const status = await new Promise<grpc.StatusObject>((resolve) => {
      const call = client.makeServerStreamRequest(path, same, same, Buffer.alloc(0), metadata);
      call
        .on('error', () => {})
        .on('status', resolve)
        .resume();
    });
    expect([status.code, status.metadata.get('exception')]).toEqual(answer);
  });

  test('nobody in particular is access-denied: code 7 on reads and none on a batch append, as on a real node', async () => {
    const { at, right } = await secure();
    const client = at('');
    expect(await rejection(collect(client.readAll()))).toMatchObject({ type: 'access-denied', code: 7 });
    expect(await rejection(client.deleteStream('safe-3'))).toMatchObject({ type: 'access-denied', code: 7 });
    const refused = await rejection(client.appendToStream('safe-3', numbered(1)));
    expect(refused).toMatchObject({ type: 'access-denied' });
    expect(refused.code).toBeUndefined();
    // The stream of appends has survived the refusal, and nothing was written.
    await rejection(client.appendToStream('safe-3', numbered(2)));
    expect(await collect(at(right).readAll())).toEqual([]);
  });

  test('who does not trust the certificate, or speaks plain text, gets no further', async () => {
    const { at, port, right } = await secure();
    const untrusting = await rejection(collect(at(right, 'tls=true').readAll()));
    expect(untrusting.message).toMatch(/certificate/);
    const plain = await rejection(collect(at(right, 'tls=false').readAll()));
    expect([plain.code, plain.type]).toContain(14);
    expect(port).toBeDefined();
  });
});

test('TLS without a user lets in who trusts the certificate', async () => {
  const { at } = await secure({ tls });
  const client = at('');
  await client.appendToStream('open-1', numbered(1));
  expect(await collect(client.readAll())).toHaveLength(1);
});

test('without TLS credentials are not asked for and not looked at', async () => {
  const { endpoint } = await openStore();
  const client = connect(endpoint);
  await client.appendToStream('open-2', numbered(1), { credentials: { username: 'any', password: 'body' } });
});
