import { createHash } from 'node:crypto';
import type { EventStoreDBClient, ResolvedEvent } from '@eventstore/db-client';
import { complain, count, type Figures } from './figures.ts';
import { difference, type Found, type History, type Verdict } from './oracle.ts';

/** What is compared of an event's content. */
export const digest = (type: string, content: unknown, metadata: unknown): string => {
  const plain = content instanceof Uint8Array ? content : JSON.stringify(content);
  return createHash('sha1')
    .update(type)
    .update(plain)
    .update(JSON.stringify(metadata ?? null))
    .digest('base64');
};

/** An event of the client in the oracle's words. */
export function found({ event }: ResolvedEvent): Found {
  const { id, streamId, revision, position, type, data, metadata } = event!;
  const meta = metadata instanceof Uint8Array ? null : metadata;
  return {
    id,
    stream: streamId,
    revision,
    position: position!.commit,
    type,
    hash: digest(type, data, meta),
  };
}

/** Everything in the log, in order. */
export async function readAll(client: EventStoreDBClient): Promise<Found[]> {
  const all: Found[] = [];
  for await (const resolved of client.readAll()) all.push(found(resolved));
  return all;
}

/** What is wrong when each stream is read by itself, forwards and backwards, and `$all` backwards. */
async function readingsDiffer(client: EventStoreDBClient, all: readonly Found[]): Promise<string[]> {
  const faults: (string | undefined)[] = [];
  const streams = new Map<string, Found[]>();
  for (const event of all) {
    const own = streams.get(event.stream);
    if (own === undefined) streams.set(event.stream, [event]);
    else own.push(event);
  }
  for (const [name, own] of streams) {
    const forwards: Found[] = [];
    for await (const resolved of client.readStream(name)) forwards.push(found(resolved));
    faults.push(difference(`${name} forwards`, forwards, own));
    const backwards: Found[] = [];
    const options = { direction: 'backwards', fromRevision: 'end' } as const;
    for await (const resolved of client.readStream(name, options)) backwards.push(found(resolved));
    faults.push(difference(`${name} backwards`, backwards.reverse(), own));
  }
  const backwards: Found[] = [];
  for await (const resolved of client.readAll({ direction: 'backwards', fromPosition: 'end' }))
    backwards.push(found(resolved));
  faults.push(difference('$all backwards', backwards.reverse(), all));
  return faults.filter((fault) => fault !== undefined);
}

/** Reads everything back in every way there is and adds what is wrong; undefined where it cannot be read. */
export async function inspect(
  client: EventStoreDBClient,
  history: History,
  figures: Figures,
  cycle: string,
): Promise<{ readonly all: readonly Found[]; readonly verdict: Verdict } | undefined> {
  try {
    const all = await readAll(client);
    const verdict = history.check(all);
    count(figures, verdict, cycle);
    for (const fault of await readingsDiffer(client, all)) complain(figures, `${cycle}: ${fault}`);
    return { all, verdict };
  } catch (error) {
    figures.lost += history.acknowledged;
    complain(figures, `${cycle}: the log cannot be read: ${(error as Error).message}`);
    return undefined;
  }
}
