import { type EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import grpc from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isSoftDeleted,
  parseMetadata,
  SOFT_DELETE,
  withTruncateBefore,
} from '../../src/embedded/store/index/metadata.ts';
import { collect, errorOf, numbered, openStore, rejection } from './store-under-test.ts';

const numbers = async (client: EventStoreDBClient, name: string) =>
  (await collect(client.readStream(name))).map(({ event }) => (event!.data as { i: number }).i);

describe('deletion', () => {
  test('soft: a deleted stream goes on where it was, after a restart too', async () => {
    const first = await openStore();
    await first.client.appendToStream('del-1', [numbered(0), numbered(1)]);
    await first.client.deleteStream('del-1');
    await first.close();
    const { client } = await openStore({ dir: first.dir });
    expect((await rejection(collect(client.readStream('del-1')))).type).toBe('stream-not-found');
    const { nextExpectedRevision } = await client.appendToStream('del-1', numbered(2), {
      expectedRevision: 'no_stream',
    });
    expect(nextExpectedRevision).toBe(2n);
    expect(await numbers(client, 'del-1')).toEqual([2]);
  });

  test('soft: recreation keeps the rest of the metadata', async () => {
    const { client } = await openStore();
    await client.appendToStream('del-2', numbered(0));
    await client.appendToStream('$$del-2', jsonEvent({ type: '$metadata', data: { $tb: 1, $maxCount: 7, own: 'x' } }));
    await client.deleteStream('del-2');
    await client.setStreamMetadata('del-2', { maxCount: 7, own: 'x' });
    expect((await client.getStreamMetadata('del-2')).metadata).toEqual({ maxCount: 7, own: 'x', truncateBefore: 1 });
  });

  test('hard: stays after a restart, for the stream and its metadata', async () => {
    const first = await openStore();
    await first.client.appendToStream('dead-1', numbered(0));
    await first.client.tombstoneStream('dead-1');
    await first.close();
    const { client } = await openStore({ dir: first.dir });
    expect((await rejection(client.appendToStream('dead-1', numbered(1)))).type).toBe('stream-deleted');
    expect((await rejection(collect(client.readStream('$$dead-1')))).type).toBe('stream-deleted');
  });

  test('hard: reaches a subscriber that lags behind it', async () => {
    const { client } = await openStore({ faults: { forceLag: true } });
    await client.appendToStream('dead-2', numbered(0));
    const subscription = client.subscribeToStream('dead-2');
    const types: string[] = [];
    subscription.on('data', ({ event }) => types.push(event!.type));
    const ended = errorOf(subscription);
    await new Promise<void>((resolve) => subscription.once('caughtUp', () => resolve()));
    await client.tombstoneStream('dead-2');
    expect((await ended).type).toBe('stream-deleted');
    expect(types).toEqual(['counted', '$streamDeleted']);
  });
});

describe('metadata', () => {
  test('a soft delete is told from any other large $tb by its text', () => {
    expect(isSoftDeleted(parseMetadata(SOFT_DELETE, 0))).toBe(true);
    expect(isSoftDeleted(parseMetadata(Buffer.from('{"$tb":9223372036854775806}'), 0))).toBe(false);
    expect(isSoftDeleted(parseMetadata(Buffer.from('{"$tb":9223372036854776000}'), 0))).toBe(false);
    expect(isSoftDeleted(parseMetadata(Buffer.from('{"a":{"$tb":9223372036854775807},"$tb":5}'), 0))).toBe(false);
  });

  test('any bytes are metadata or none, and never an exception', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json().map((text) => Buffer.from(text)),
          fc.uint8Array().map((bytes) => Buffer.from(bytes)),
        ),
        (raw) => {
          const parsed = parseMetadata(raw, 1);
          expect(parsed.maxCount === undefined || parsed.maxCount > 0).toBe(true);
          withTruncateBefore(raw, 3);
        },
      ),
    );
  });

  test('$maxAge hides by time, not by place, and after a restart too', async () => {
    let clock = Date.now();
    const now = () => clock;
    const first = await openStore({ now });
    await first.client.setStreamMetadata('age-1', { maxAge: 1 });
    await first.client.appendToStream('age-1', numbered(0));
    clock += 1100;
    await first.client.appendToStream('age-1', numbered(1));
    await first.close();
    const { client } = await openStore({ dir: first.dir, now });
    expect(await numbers(client, 'age-1')).toEqual([1]);
  });

  test('holds for reads of a large stream in both directions', async () => {
    const { client } = await openStore();
    for (let i = 0; i < 6; i++)
      await client.appendToStream(
        'large-1',
        Array.from({ length: 100 }, (_, k) => numbered(i * 100 + k)),
      );
    await client.setStreamMetadata('large-1', { maxCount: 350, truncateBefore: 200 });
    expect(await numbers(client, 'large-1')).toEqual(Array.from({ length: 350 }, (_, i) => 250 + i));
    const back = await collect(
      client.readStream('large-1', { direction: 'backwards', fromRevision: 'end', maxCount: 400 }),
    );
    expect(back.map(({ event }) => Number(event!.revision))).toEqual(Array.from({ length: 350 }, (_, i) => 599 - i));
  });
});

test('a caller who wants structured UUIDs gets them, from reads filtered and not', async () => {
  const { endpoint, client } = await openStore();
  const event = numbered(1);
  await client.appendToStream('uuid-1', [event, numbered(2, 'other')]);
  const raw = new streamsService.StreamsClient(endpoint, grpc.credentials.createInsecure());
  const options = new streams.ReadReq.Options();
  options.setAll(new streams.ReadReq.Options.AllOptions().setStart(new shared.Empty()));
  options.setCount('10');
  options.setUuidOption(new streams.ReadReq.Options.UUIDOption().setStructured(new shared.Empty()));
  const expression = new streams.ReadReq.Options.FilterOptions.Expression().setPrefixList(['count']);
  options.setFilter(new streams.ReadReq.Options.FilterOptions().setEventType(expression).setMax(32));
  const seen: InstanceType<typeof streams.ReadResp>[] = [];
  await new Promise((resolve, reject) => {
    const call = raw.read(new streams.ReadReq().setOptions(options));
    call.on('data', (response) => seen.push(response));
    call.on('end', resolve);
    call.on('error', reject);
  });
  expect(seen).toHaveLength(1);
  const structured = seen[0]!.getEvent()!.getEvent()!.getId()!.getStructured()!;
  const bytes = Buffer.alloc(16);
  bytes.writeBigInt64BE(BigInt(structured.getMostSignificantBits()), 0);
  bytes.writeBigInt64BE(BigInt(structured.getLeastSignificantBits()), 8);
  expect(bytes.toString('hex')).toBe(event.id.replaceAll('-', ''));
  raw.close();
});

test('nothing relies on records lying side by side: with gaps every read still agrees', async () => {
  const first = await openStore({ faults: { positionGaps: 100 } });
  for (let i = 0; i < 60; i++)
    await first.client.appendToStream(`gap-${i % 3}`, [numbered(2 * i), numbered(2 * i + 1)]);
  await first.close();
  const { client } = await openStore({ dir: first.dir });
  const forwards = await collect(client.readAll());
  const backwards = await collect(client.readAll({ direction: 'backwards', fromPosition: 'end' }));
  expect(forwards.map(({ event }) => (event!.data as { i: number }).i)).toEqual(
    Array.from({ length: 120 }, (_, i) => i),
  );
  expect(backwards.map(({ event }) => event!.id)).toEqual(forwards.map(({ event }) => event!.id).reverse());
  const after = await client.appendToStream('gap-0', numbered(120));
  expect(after.position!.commit > forwards.at(-1)!.event!.position!.commit).toBe(true);
});
