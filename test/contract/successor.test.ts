import { eventTypeFilter, KurrentDBClient, streamNameFilter } from '@kurrent/kurrentdb-client';
import { describe, expect, test } from 'vitest';
import type { Target } from '../../src/eventstoredb/client/target.ts';
import { collect, events, fresh } from './events.ts';
import { appendContract } from './shared/append.ts';
import { deleteContract } from './shared/delete.ts';
import { readContract } from './shared/read.ts';
import { subscribeContract } from './shared/subscribe.ts';
import { type Client, theClient, useServer } from './target.ts';

type Options = { readonly expectedRevision?: unknown };
type Calls = Record<string, (...args: unknown[]) => unknown>;

/** The successor calls the expected revision `streamState`, and the versions in its errors states. */
function kurrent(target: Target): Client {
  const url = 'url' in target ? target.url : target.endpoint;
  const client = KurrentDBClient.connectionString(url.replace(/^esdb/, 'kurrentdb')) as unknown as Calls;
  const renamed = ({ expectedRevision, ...rest }: Options = {}) =>
    expectedRevision === undefined ? rest : { ...rest, streamState: expectedRevision, expectedRevision };
  const inOldWords = (error: Error & { expectedState?: unknown; actualState?: unknown }): never => {
    throw Object.assign(error, { expectedVersion: error.expectedState, actualVersion: error.actualState });
  };
  const calling =
    (method: string, optionsAt: number) =>
    (...args: unknown[]) => {
      const all = [...args];
      all[optionsAt] = renamed(args[optionsAt] as Options);
      return (client[method]!(...all) as Promise<unknown>).catch(inOldWords);
    };
  return {
    appendToStream: calling('appendToStream', 2),
    deleteStream: calling('deleteStream', 1),
    tombstoneStream: calling('tombstoneStream', 1),
    setStreamMetadata: calling('setStreamMetadata', 2),
    getStreamMetadata: calling('getStreamMetadata', 1),
    readStream: (...args: unknown[]) => client.readStream!(...args),
    readAll: (...args: unknown[]) => client.readAll!(...args),
    subscribeToStream: (...args: unknown[]) => client.subscribeToStream!(...args),
    subscribeToAll: (...args: unknown[]) => client.subscribeToAll!(...args),
    dispose: () => client.dispose!(),
  } as unknown as Client;
}

describe('through @kurrent/kurrentdb-client', () => {
  useServer(kurrent, 'tcp');
  appendContract();
  readContract();
  deleteContract();
  subscribeContract();

  test('34 a read of all is filtered as a subscription is, which the older client cannot ask for', async () => {
    const id = fresh('').slice(-12);
    const { position } = await theClient().appendToStream(`a${id}-1`, events(1, 0, `x${id}`));
    for (const [stream, type] of ['ay', 'bx', 'cz', 'ax'].map((pair) => [...pair])) {
      await theClient().appendToStream(`${stream}${id}-1`, events(1, 0, `${type}${id}`));
    }
    const read = async (filter: object, options: object = {}) => {
      const all = theClient().readAll({ fromPosition: position!, ...options, ...{ filter } });
      return (await collect(all)).map(({ event }) => `${event!.streamId[0]}${event!.type[0]}`);
    };
    const newest = { direction: 'backwards', fromPosition: 'end' } as const;
    expect(await read(streamNameFilter({ prefixes: [`a${id}`, `c${id}`] }))).toEqual(['ax', 'ay', 'cz', 'ax']);
    expect(await read(streamNameFilter({ regex: `^[bc]${id}-\\d$` }))).toEqual(['bx', 'cz']);
    expect(await read(eventTypeFilter({ prefixes: [`y${id}`, `z${id}`] }))).toEqual(['ay', 'cz']);
    const byNumber = { ...newest, fromPosition: { commit: 2n ** 64n - 1n, prepare: 2n ** 64n - 1n } };
    for (const end of [newest, byNumber])
      expect(await read(eventTypeFilter({ regex: `x${id}$` }), end)).toEqual(['ax', 'bx', 'ax']);
    expect(await read(streamNameFilter({ prefixes: [`a${id}`] }), { maxCount: 2 })).toEqual(['ax', 'ay']);
    expect(await read(streamNameFilter({ prefixes: [`none${id}`] }))).toEqual([]);
  });
});
