import { setTimeout as wait } from 'node:timers/promises';
import type { AllStreamResolvedEvent, Position } from '@eventstore/db-client';
import { expect, test } from 'vitest';
import { binaryEvent, collect, events, fresh, numberOf, numbers, refusal } from '../events.ts';
import { theClient } from '../target.ts';

const backwards = { direction: 'backwards' } as const;

/** All from its end back to a position, however much others have written since. */
const backTo = async ({ commit }: Position): Promise<AllStreamResolvedEvent[]> => {
  const records: AllStreamResolvedEvent[] = [];
  let fromPosition: Position | 'end' = 'end';
  do {
    records.push(...(await collect(theClient().readAll({ ...backwards, fromPosition, maxCount: 500 }))));
    fromPosition = records.at(-1)!.event!.position!;
  } while (fromPosition.commit > commit);
  return records;
};

/** What both clients are asked. */
export function readContract(): void {
  test('20 a missing stream is not found, by its name', async () => {
    const stream = fresh();
    const error = await refusal(collect(theClient().readStream(stream)));
    expect(error).toMatchObject({ type: 'stream-not-found', streamName: stream });
  });

  test('21 both directions, from any revision, up to any count', async () => {
    const stream = fresh();
    await theClient().appendToStream(stream, events(6));
    const read = (options: object) => numbers(theClient().readStream(stream, options));
    expect(await read({})).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await read({ fromRevision: 2n, maxCount: 2 })).toEqual([2, 3]);
    expect(await read({ fromRevision: 5n })).toEqual([5]);
    expect(await read({ fromRevision: 6n })).toEqual([]);
    expect(await read({ fromRevision: 99n })).toEqual([]);
    expect(await read({ ...backwards, fromRevision: 'end' })).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await read({ ...backwards, fromRevision: 'end', maxCount: 2 })).toEqual([5, 4]);
    expect(await read({ ...backwards, fromRevision: 1n })).toEqual([1, 0]);
    expect(await read({ ...backwards, fromRevision: 99n })).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await read({ maxCount: 99 })).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('22 $all is inclusive forwards and exclusive backwards, and begins at its end backwards', async () => {
    const stream = fresh();
    const { position } = await theClient().appendToStream(stream, events(1));
    await theClient().appendToStream(stream, events(2, 1));
    const [first] = await collect(theClient().readAll({ fromPosition: position!, maxCount: 1 }));
    expect(first!.event).toMatchObject({ streamId: stream, revision: 0n });
    const [before] = await collect(theClient().readAll({ ...backwards, fromPosition: position!, maxCount: 1 }));
    expect(before === undefined || before.event!.position!.commit < position!.commit).toBe(true);
    const newest = await backTo(position!);
    expect(newest.filter(({ event }) => event!.streamId === stream).map(numberOf)).toEqual([2, 1, 0]);
    const onward = await collect(theClient().readAll({ fromPosition: position!, maxCount: 50 }));
    const positions = onward.map(({ event }) => event!.position!.commit);
    expect(positions.every((each, i) => i === 0 || each > positions[i - 1]!)).toBe(true);
  });

  test('24 a link is resolved; into what is hidden or deleted it is shown alone, and what is no link is an event', async () => {
    const [open, cut, soft, hard] = [fresh('open'), fresh('cut'), fresh('soft'), fresh('hard')];
    for (const name of [open, cut, soft, hard]) await theClient().appendToStream(name, events(2));
    await theClient().setStreamMetadata(cut, { truncateBefore: 1 });
    await theClient().deleteStream(soft);
    await theClient().tombstoneStream(hard);
    const at = `${fresh('at')}@b`;
    await theClient().appendToStream(at, events(2));
    const links = fresh('links');
    const targets = [`1@${open}`, `0@${cut}`, `1@${cut}`, `0@${soft}`, `0@${hard}`, 'no link', `1@${at}`];
    await theClient().appendToStream(
      links,
      targets.map((text) => binaryEvent({ type: '$>', data: Buffer.from(text) })),
    );
    const resolved = await collect(theClient().readStream(links, { resolveLinkTos: true }));
    const none = undefined;
    expect(resolved.map(({ event }) => event?.streamId)).toEqual([open, none, cut, none, none, links, at]);
    expect(resolved[0]!.event).toMatchObject({ revision: 1n, data: { i: 1 } });
    expect(resolved.map(({ link }) => link?.revision)).toEqual([0n, 1n, 2n, 3n, 4n, none, 6n]);
    expect(resolved[5]!.event).toMatchObject({ revision: 5n, type: '$>' });
    expect(resolved.every(({ link }, i) => i === 5 || (link?.streamId === links && link.type === '$>'))).toBe(true);
    const plain = await collect(theClient().readStream(links));
    expect(plain.map(({ event }) => event!.type)).toEqual(targets.map(() => '$>'));
    expect(plain.map(({ link }) => link)).toEqual(targets.map(() => undefined));
  });

  test('25 metadata hides by count, by revision and by age, and the metastream keeps one', async () => {
    const [counted, cut, aged] = [fresh(), fresh(), fresh()];
    await theClient().setStreamMetadata(aged, { maxAge: 1 });
    await theClient().appendToStream(aged, events(2));
    const written = Date.now();
    await theClient().setStreamMetadata(counted, { maxCount: 2 });
    await theClient().appendToStream(counted, events(5));
    expect(await numbers(theClient().readStream(counted))).toEqual([3, 4]);
    expect(await numbers(theClient().readStream(counted, { ...backwards, fromRevision: 'end' }))).toEqual([4, 3]);
    await theClient().appendToStream(cut, events(5));
    await theClient().setStreamMetadata(cut, { truncateBefore: 3 });
    expect(await numbers(theClient().readStream(cut))).toEqual([3, 4]);
    await theClient().setStreamMetadata(cut, { truncateBefore: 4, own: 'x' });
    expect((await theClient().getStreamMetadata(cut)).metadata).toEqual({ truncateBefore: 4, own: 'x' });
    expect(await collect(theClient().readStream(`$$${cut}`))).toHaveLength(1);
    await wait(Math.max(0, written + 2100 - Date.now()));
    expect(await numbers(theClient().readStream(aged))).toEqual([]);
    expect((await theClient().appendToStream(aged, events(1, 2), { expectedRevision: 1n })).nextExpectedRevision).toBe(
      2n,
    );
    expect(await numbers(theClient().readStream(aged))).toEqual([2]);
  });
}
