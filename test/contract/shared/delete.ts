import { expect, test } from 'vitest';
import { collect, events, fresh, numbers, refusal } from '../events.ts';
import { hear } from '../hear.ts';
import { theClient } from '../target.ts';

/** What both clients are asked. */
export function deleteContract(): void {
  test('27 a soft-deleted stream is not found, and goes on behind its last revision with no_stream or any', async () => {
    for (const expectedRevision of ['no_stream', 'any', 1n] as const) {
      const stream = fresh();
      await theClient().appendToStream(stream, events(2));
      await theClient().deleteStream(stream, { expectedRevision: 1n });
      expect((await refusal(collect(theClient().readStream(stream)))).type).toBe('stream-not-found');
      const answer = await theClient().appendToStream(stream, events(2, 2), { expectedRevision });
      expect(answer.nextExpectedRevision).toBe(3n);
      const read = await collect(theClient().readStream(stream));
      expect(read.map(({ event }) => event!.revision)).toEqual([2n, 3n]);
      expect((await theClient().getStreamMetadata(stream)).metadata).toMatchObject({ truncateBefore: 2 });
    }
  });

  test('28 a missing stream cannot be soft-deleted, nor one at another revision', async () => {
    expect((await refusal(theClient().deleteStream(fresh()))).type).toBe('wrong-expected-version');
    const stream = fresh();
    await theClient().appendToStream(stream, events(2));
    for (const remove of ['deleteStream', 'tombstoneStream'] as const) {
      expect(await refusal(theClient()[remove](stream, { expectedRevision: 0n }))).toMatchObject({
        type: 'wrong-expected-version',
        streamName: stream,
        expectedVersion: 0n,
        actualVersion: 1n,
      });
    }
    expect(await numbers(theClient().readStream(stream))).toEqual([0, 1]);
  });

  test('29 a tombstoned stream can be neither read nor appended to nor followed, for good', async () => {
    const stream = fresh();
    await theClient().appendToStream(stream, events(1));
    await theClient().tombstoneStream(stream, { expectedRevision: 0n });
    const deleted = { type: 'stream-deleted', streamName: stream };
    expect(await refusal(collect(theClient().readStream(stream)))).toMatchObject(deleted);
    for (const expectedRevision of ['no_stream', 'any', 0n] as const) {
      expect(await refusal(theClient().appendToStream(stream, events(1), { expectedRevision }))).toMatchObject(deleted);
    }
    expect(await refusal(theClient().deleteStream(stream))).toMatchObject(deleted);
    expect((await hear(theClient().subscribeToStream(stream)).error).type).toBe('stream-deleted');
  });

  test('30 a stream that never was can be tombstoned', async () => {
    const stream = fresh();
    await theClient().tombstoneStream(stream);
    expect((await refusal(theClient().appendToStream(stream, events(1)))).type).toBe('stream-deleted');
  });
}
