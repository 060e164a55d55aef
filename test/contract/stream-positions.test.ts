import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import grpc from '@grpc/grpc-js';
import { expect } from 'vitest';
import { openStore } from '../embedded/store-under-test.ts';
import { events } from './events.ts';
import { embeddedTest } from './target.ts';

const { Options } = streams.ReadReq;

interface Wanted {
  readonly from?: number;
  readonly backwards?: boolean;
  readonly count?: number;
  /** 1 asks for the positions, as the clients for .NET and Java do. */
  readonly compatibility?: number;
}

/** The messages of a read of a stream, in order: revisions of events, and the positions told beside them. */
function reader(endpoint: string) {
  const client = new streamsService.StreamsClient(endpoint, grpc.credentials.createInsecure());
  return async (name: string, { from = 0, backwards = false, count = 100, compatibility = 1 }: Wanted) => {
    const options = new Options();
    const target = new Options.StreamOptions();
    target.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(name)));
    target.setRevision(String(from));
    options
      .setStream(target)
      .setCount(String(count))
      .setReadDirection(backwards ? 1 : 0);
    options.setUuidOption(new Options.UUIDOption().setString(new shared.Empty()));
    if (compatibility > 0) options.setControlOption(new Options.ControlOption().setCompatibility(compatibility));
    const seen: unknown[] = [];
    await new Promise((resolve, reject) => {
      const call = client.read(new streams.ReadReq().setOptions(options));
      call.on('data', (response: InstanceType<typeof streams.ReadResp>) => {
        if (response.hasEvent()) seen.push(Number(response.getEvent()!.getEvent()!.getStreamRevision()));
        else if (response.hasFirstStreamPosition()) seen.push(`first ${response.getFirstStreamPosition()}`);
        else if (response.hasLastStreamPosition()) seen.push(`last ${response.getLastStreamPosition()}`);
        else if (response.hasStreamNotFound()) seen.push('not found');
      });
      call.on('end', resolve).on('error', reject);
    });
    return seen;
  };
}

embeddedTest(
  'a read that asks for it is told the last position, and the first where its start was skipped',
  async () => {
    const { client, endpoint } = await openStore();
    const read = reader(endpoint);
    await client.appendToStream('plain-1', events(4));
    expect(await read('plain-1', {})).toEqual([0, 1, 2, 3, 'last 3']);
    expect(await read('plain-1', { from: 1, count: 2 })).toEqual([1, 2, 'last 3']);
    expect(await read('plain-1', { from: 4 })).toEqual(['last 3']);
    expect(await read('plain-1', { from: 9 })).toEqual(['first 4', 'last 3']);
    expect(await read('plain-1', { from: 2, backwards: true })).toEqual([2, 1, 0, 'last 3']);
    expect(await read('plain-1', { compatibility: 0 })).toEqual([0, 1, 2, 3]);
    expect(await read('plain-1', { compatibility: 0, from: 9 })).toEqual([]);
    expect(await read('none-1', {})).toEqual(['not found']);
  },
);

embeddedTest('a read from what is hidden is told where it begins, though nothing may be left', async () => {
  let now = Date.now();
  const { client, endpoint } = await openStore({ now: () => now });
  const read = reader(endpoint);
  await client.appendToStream('cut-1', events(4));
  await client.setStreamMetadata('cut-1', { truncateBefore: 2 });
  expect(await read('cut-1', {})).toEqual(['first 2', 2, 3, 'last 3']);
  expect(await read('cut-1', { from: 3 })).toEqual([3, 'last 3']);
  expect(await read('cut-1', { from: 9, backwards: true })).toEqual([3, 2, 'last 3']);
  await client.setStreamMetadata('cut-1', { truncateBefore: 9 });
  expect(await read('cut-1', {})).toEqual(['first 4', 'last 3']);
  await client.setStreamMetadata('old-1', { maxAge: 60 });
  await client.appendToStream('old-1', events(600));
  now += 61_000;
  expect(await read('old-1', {})).toEqual(['first 600', 'last 599']);
  await client.appendToStream('old-1', events(1), { deadline: 600_000 });
  expect(await read('old-1', {})).toEqual(['first 600', 600, 'last 600']);
});
