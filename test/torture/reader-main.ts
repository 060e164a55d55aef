/**
 * Starts the store in each of the folders named on standard input, one a line, reads everything in it every way there is,
 * and prints what came as one line of JSON. A store that kills the process kills this one, which is the point.
 */
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EventStoreDBClient, type ResolvedEvent } from '@eventstore/db-client';
import { found } from './read-back.ts';
import type { Task } from './read-each.ts';
import { fromBuild } from './scene.ts';

const { startEmbedded } = await fromBuild<typeof import('../../src/embedded/index.ts')>('index');
const { runStore } = await fromBuild<typeof import('../../src/embedded/run-store.ts')>('run-store');

const shown = (resolved: ResolvedEvent) => {
  const one = (event: ResolvedEvent['event']) => {
    if (event === undefined) return null;
    const { position, revision, ...rest } = found({ event });
    return { ...rest, position: String(position), revision: String(revision), created: event.created.getTime() };
  };
  return { event: one(resolved.event), link: one(resolved.link) };
};

/** The events of one read and, where it ended with one, its error. */
const gather = async (read: AsyncIterable<ResolvedEvent>) => {
  const events: unknown[] = [];
  try {
    for await (const resolved of read) events.push(shown(resolved));
    return { events };
  } catch (error) {
    return { events, error: (error as { type?: string }).type ?? (error as Error).message };
  }
};

const readAll = async ({ dir, streams, faults }: Task): Promise<unknown> => {
  let store: Pick<Awaited<ReturnType<typeof startEmbedded>>, 'endpoint' | 'close'>;
  try {
    store = faults
      ? await runStore({ dir, listen: { socket: join(dir, 's.sock') }, faults })
      : await startEmbedded({ dir, inThread: true });
  } catch (error) {
    return { refused: (error as Error).message };
  }
  const client = new EventStoreDBClient({ endpoint: store.endpoint }, { insecure: true });
  const reads: Record<string, unknown> = {
    forwards: await gather(client.readAll()),
    backwards: await gather(client.readAll({ direction: 'backwards', fromPosition: 'end' })),
  };
  for (const name of streams) {
    reads[name] = await gather(client.readStream(name, { resolveLinkTos: true }));
    const backwards = { direction: 'backwards', fromRevision: 'end' } as const;
    reads[`${name} backwards`] = await gather(client.readStream(name, backwards));
  }
  await client.dispose();
  await store.close();
  return { reads };
};

for await (const line of createInterface(process.stdin)) {
  const outcome = JSON.stringify(await readAll(JSON.parse(line) as Task));
  await new Promise((written) => process.stdout.write(`${outcome}\n`, written));
}
process.exit(0);
