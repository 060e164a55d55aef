import { describe, expect, test } from 'vitest';
import { binaryEvent, collect, events, fresh, jsonEvent, numbers, refusal } from '../events.ts';
import { credentials, theClient } from '../target.ts';

/** Credentials of a call's own make the client use the classic call instead of its batch stream. */
const classic = { credentials: credentials() };

/** What both clients are asked. */
export function appendContract(): void {
  describe.each([
    ['batch', {}],
    ['classic', classic],
  ])('the %s call', (_, path) => {
    test('1 no_stream creates revisions 0 to n-1', async () => {
      const stream = fresh();
      const answer = await theClient().appendToStream(stream, events(3), { ...path, expectedRevision: 'no_stream' });
      expect(answer.nextExpectedRevision).toBe(2n);
      const read = await collect(theClient().readStream(stream));
      expect(read.map(({ event }) => event!.revision)).toEqual([0n, 1n, 2n]);
    });

    test('2 an exact revision is accepted where the stream is', async () => {
      const stream = fresh();
      await theClient().appendToStream(stream, events(2), { ...path, expectedRevision: 'no_stream' });
      const answer = await theClient().appendToStream(stream, events(2, 2), { ...path, expectedRevision: 1n });
      expect(answer.nextExpectedRevision).toBe(3n);
      expect(await numbers(theClient().readStream(stream))).toEqual([0, 1, 2, 3]);
    });

    test('3 a wrong revision is refused with stream, expected and actual', async () => {
      const stream = fresh();
      const appending = (expectedRevision: bigint | 'no_stream') =>
        refusal(theClient().appendToStream(stream, events(1), { ...path, expectedRevision }));
      const type = 'wrong-expected-version';
      const expected = { type, streamName: stream, expectedVersion: 0n, actualVersion: 'no_stream' };
      expect(await appending(0n)).toMatchObject(expected);
      await theClient().appendToStream(stream, events(2), path);
      expect(await appending('no_stream')).toMatchObject({ type, expectedVersion: 'no_stream', actualVersion: 1n });
      expect(await appending(0n)).toMatchObject({ type, streamName: stream, expectedVersion: 0n, actualVersion: 1n });
      expect(await appending(9n)).toMatchObject({ type, expectedVersion: 9n, actualVersion: 1n });
    });

    test('6 the same events again have the same revision and position and write nothing', async () => {
      for (const expectedRevision of ['no_stream', 'any', 0n, 'stream_exists'] as const) {
        const stream = fresh();
        const given = events(2);
        const isNew = expectedRevision === 'no_stream' || expectedRevision === 'any';
        if (!isNew) await theClient().appendToStream(stream, events(1, 9));
        const first = await theClient().appendToStream(stream, given, { ...path, expectedRevision });
        const again = await theClient().appendToStream(stream, given, { ...path, expectedRevision });
        expect(again.nextExpectedRevision).toBe(first.nextExpectedRevision);
        expect(again.position).toEqual(first.position);
        expect(await collect(theClient().readStream(stream))).toHaveLength(isNew ? 2 : 3);
      }
    });

    test('7 events that overlap with others only in part are a wrong version', async () => {
      const stream = fresh();
      const given = events(2);
      await theClient().appendToStream(stream, given, { ...path, expectedRevision: 'no_stream' });
      const again = (overlap: typeof given, expectedRevision: 'no_stream' | 'any' | bigint) =>
        refusal(theClient().appendToStream(stream, overlap, { ...path, expectedRevision }));
      const type = 'wrong-expected-version';
      expect((await again([given[0]!, ...events(1, 5)], 'no_stream')).type).toBe(type);
      expect((await again([...given, ...events(1, 6)], 'no_stream')).type).toBe(type);
      expect((await again([...given, ...events(1, 7)], 'any')).type).toBe(type);
      expect((await again([given[1]!, ...events(1, 8)], 0n)).type).toBe(type);
      expect(await numbers(theClient().readStream(stream))).toEqual([0, 1]);
    });
  });

  test('4 any is accepted on a new stream and an old one', async () => {
    const stream = fresh();
    for (let i = 0; i < 2; i++) {
      const answer = await theClient().appendToStream(stream, events(1, i), { expectedRevision: 'any' });
      expect(answer.nextExpectedRevision).toBe(BigInt(i));
    }
    expect(await numbers(theClient().readStream(stream))).toEqual([0, 1]);
  });

  test('5 stream_exists tells missing, metadata only, soft-deleted and tombstoned apart', async () => {
    const append = (stream: string) =>
      theClient().appendToStream(stream, events(1), { expectedRevision: 'stream_exists' });
    const missing = fresh();
    expect(await refusal(append(missing))).toMatchObject({
      type: 'wrong-expected-version',
      actualVersion: 'no_stream',
    });
    const described = fresh();
    await theClient().setStreamMetadata(described, { maxCount: 10 });
    expect((await append(described)).nextExpectedRevision).toBe(0n);
    const deleted = fresh();
    await theClient().appendToStream(deleted, events(1));
    await theClient().deleteStream(deleted);
    expect((await refusal(append(deleted))).type).toBe('stream-deleted');
    const dead = fresh();
    await theClient().tombstoneStream(dead);
    expect((await refusal(append(dead))).type).toBe('stream-deleted');
  });

  test('8 an id that another stream has is new', async () => {
    const given = events(1);
    const [one, other] = [fresh(), fresh()];
    await theClient().appendToStream(one, given, { expectedRevision: 'no_stream' });
    await theClient().appendToStream(other, given, { expectedRevision: 'no_stream' });
    expect(await numbers(theClient().readStream(other))).toEqual([0]);
  });

  test('11 the position answered is the one at which the last event is read', async () => {
    const stream = fresh();
    const answer = await theClient().appendToStream(stream, events(3));
    const read = await collect(theClient().readStream(stream));
    expect(read.at(-1)!.event!.position).toEqual(answer.position);
    const positions = read.map(({ event }) => event!.position!.commit);
    expect(positions.every((position, i) => i === 0 || position > positions[i - 1]!)).toBe(true);
  });

  test.each([-60_000, 0])('14 an append with a deadline of %s ms writes nothing', async (deadline) => {
    const stream = fresh();
    const error = await refusal(theClient().appendToStream(stream, events(1), { deadline }));
    expect(error.type).toBe('deadline-exceeded');
    expect((await refusal(collect(theClient().readStream(stream)))).type).toBe('stream-not-found');
  });

  test('16 names, types and data in any script come back, and in a batch refusal the name does too', async () => {
    const stream = fresh('größe-水-🌊');
    await theClient().appendToStream(
      stream,
      jsonEvent({ type: 'größer-水', data: { text: '水🌊\u0000' }, metadata: { who: 'é' } }),
    );
    const [read] = await collect(theClient().readStream(stream));
    expect(read!.event).toMatchObject({
      streamId: stream,
      type: 'größer-水',
      data: { text: '水🌊\u0000' },
      metadata: { who: 'é' },
    });
    expect((await refusal(theClient().appendToStream(stream, events(1), { expectedRevision: 5n }))).streamName).toBe(
      stream,
    );
  });

  test('17 binary and JSON, with metadata of either form and without, come back as they were', async () => {
    const stream = fresh();
    const bytes = Uint8Array.from([0, 1, 254, 255]);
    await theClient().appendToStream(stream, [
      binaryEvent({ type: 'raw', data: bytes }),
      binaryEvent({ type: 'raw', data: bytes, metadata: bytes }),
      jsonEvent({ type: 'plain', data: { n: null, d: [1.5, 2 ** 53 - 1] } }),
      jsonEvent({ type: 'plain', data: {}, metadata: { a: 1 } }),
    ]);
    const read = await collect(theClient().readStream(stream));
    expect(read.map(({ event }) => event!.isJson)).toEqual([false, false, true, true]);
    const plain = (value: unknown) => (value instanceof Uint8Array ? [...value] : value);
    expect(read.map(({ event }) => plain(event!.data))).toEqual([
      [...bytes],
      [...bytes],
      { n: null, d: [1.5, 2 ** 53 - 1] },
      {},
    ]);
    expect(plain(read[1]!.event!.metadata)).toEqual([...bytes]);
    expect(read[3]!.event!.metadata).toEqual({ a: 1 });
  });
}
