import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import { connect } from '../../src/eventstoredb/connect.ts';
import { type EventStore, type Recorded, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { type CuttingProxy, cuttingProxy } from '../support/cutting-proxy.ts';
import { event } from '../support/events.ts';
import { plainNode } from '../support/shared-store.ts';
import { complain, type Figures, type Plan } from './figures.ts';
import { seeded } from './random.ts';
import { Scene } from './scene.ts';
import { endOf } from './soak-judge.ts';

const STREAMS = 4;
/** Half-open connections: seldom, since each takes up to twenty seconds to be found out. */
const CUTS_PER_SILENCE = 200;
/** Ten seconds until the next ping and ten for its answer, and what timers may be late. */
const NOTICED_MS = 21_000;
const GIVE_UP_MS = 60_000;

/**
 * D9: writers and a subscriber of the kernel's adapter work through a proxy that cuts connections in the middle of frames
 * and now and then lets nothing through without closing them. Nothing acknowledged is lost or there twice, and the
 * subscriber is given each event once and in order. `count` is the number of cuts. The canary's subscriber goes on from
 * the end after each loss instead of from where it was.
 */
export async function torturedByLostConnections(
  { count, seed, canary, store: elsewhere }: Plan,
  figures: Figures,
): Promise<void> {
  const random = seeded(seed);
  const scene = new Scene();
  try {
    const node =
      (elsewhere && plainNode(elsewhere)) ??
      (await scene.start(scene.dir(), { settings: { embedded: true, port: 0 } })).endpoint;
    // Where it is not all about what is written here.
    const end = await endOf(scene.connect(node));
    const before = end === 'start' ? null : end.commit;
    const proxy = await cuttingProxy(0, node);
    scene.later(() => proxy.close());
    // With the client's own ten seconds a silence takes twenty to notice: that is for the long form.
    const pings = count >= 100 ? '' : '&keepAliveInterval=1000&keepAliveTimeout=1000';
    const url = `esdb://${proxy.endpoint}?tls=false${pings}`;
    const quick = { retryMs: [5, 50], resubscribeMs: [5, 50], totalMs: 60_000 } as const;
    const store = connect({ url }, quick);
    scene.later(() => store.close());
    const seen: Recorded[] = [];
    const following = canary
      ? followFromTheEnd(url, seen)
      : store.subscribe({
          after: before,
          async deliver(batch) {
            seen.push(...batch);
            // A slow reader, at times.
            if (random.next() < 0.05) await wait(20);
          },
          failed: (error) => complain(figures, `the subscription gave up: ${error.message}`),
        });
    scene.later(() => following.close());
    let isOver = false;
    const acknowledged: string[] = [];
    const writing = Array.from({ length: STREAMS }, () =>
      write(store, `cut-${randomUUID()}`, acknowledged, () => isOver),
    );
    await cut(proxy, count, () => random.between(300, 20_000), figures);
    isOver = true;
    proxy.cutAfter(() => 0);
    await Promise.all(writing);
    const last = await store.append(`cut-${randomUUID()}`, [event(0)], 'no_stream');
    const whole = await everythingBehind(before, store);
    for (let tries = canary ? 280 : 0; tries < 300 && (seen.at(-1)?.position ?? 0n) < last.position; tries++)
      await wait(100);
    judge(figures, acknowledged, whole, seen);
  } finally {
    await scene.end();
  }
}

/** Lets so many connections be cut, and now and then one go silent. */
async function cut(proxy: CuttingProxy, count: number, limit: () => number, figures: Figures): Promise<void> {
  let nextSilence = Math.floor(count / 2);
  let longest = 0;
  proxy.cutAfter(limit);
  while (proxy.cuts < count) {
    await wait(5);
    figures.cycles = proxy.cuts;
    if (proxy.cuts < nextSilence) continue;
    nextSilence += CUTS_PER_SILENCE;
    // The next connection is not cut; it works for a while, and then nothing comes any more.
    proxy.cutAfter(() => 0);
    const before = proxy.connections;
    while (proxy.connections === before) await wait(5);
    await wait(200);
    const working = proxy.connections;
    const began = performance.now();
    proxy.cutAfter(limit);
    proxy.deafen();
    while (proxy.connections === working && performance.now() - began < GIVE_UP_MS) await wait(10);
    const took = performance.now() - began;
    longest = Math.max(longest, took);
    if (took > NOTICED_MS) complain(figures, `a half-open connection was noticed after ${Math.round(took)} ms`);
  }
  figures.cycles = proxy.cuts;
  figures.notes.push(`silence noticed within ${(longest / 1000).toFixed(1)} s`);
}

async function write(store: EventStore, stream: string, acknowledged: string[], isOver: () => boolean): Promise<void> {
  for (let revision = -1; !isOver(); ) {
    const events = Array.from({ length: 1 + ((revision + 1) % 3) }, (_, i) => event(revision + 1 + i));
    try {
      revision = (await store.append(stream, events, revision < 0 ? 'no_stream' : revision)).revision;
      for (const { id } of events) acknowledged.push(id);
    } catch (error) {
      // Given up after a minute: what became of it is not known, and the writer with it.
      if (error instanceof StoreUnavailable) return;
      throw error;
    }
  }
}

async function everythingBehind(before: bigint | null, store: EventStore): Promise<Recorded[]> {
  const all: Recorded[] = [];
  const from = before ?? 'start';
  for await (const each of store.readAll({ from, direction: 'forwards', limit: Number.MAX_SAFE_INTEGER }))
    if (before === null || each.position > before) all.push(each);
  return all;
}

function judge(
  figures: Figures,
  acknowledged: readonly string[],
  whole: readonly Recorded[],
  seen: readonly Recorded[],
): void {
  figures.acknowledged = acknowledged.length;
  const times = new Map<string, number>();
  for (const { id } of whole) times.set(id, (times.get(id) ?? 0) + 1);
  for (const id of acknowledged) {
    if (times.has(id)) continue;
    figures.lost++;
    complain(figures, `${id} was acknowledged and is not there`);
  }
  for (const [id, count] of times) {
    if (count === 1) continue;
    figures.doubled++;
    complain(figures, `${id} is there ${count} times`);
  }
  const place = whole.findIndex(({ id }, i) => seen[i]?.id !== id);
  if (place >= 0)
    complain(figures, `the subscriber has ${seen[place]?.stream}@${seen[place]?.revision} at place ${place}`);
  if (seen.length !== whole.length) complain(figures, `the subscriber has ${seen.length} of ${whole.length} events`);
}

/** What nobody should write. */
function followFromTheEnd(url: string, seen: Recorded[]): { close(): Promise<void> } {
  const client = EventStoreDBClient.connectionString(url);
  let isOver = false;
  const follow = (from: 'start' | 'end'): void => {
    if (isOver) return;
    const subscription = client.subscribeToAll({ fromPosition: from });
    subscription.on('data', ({ event: given }) => {
      if (given && !given.type.startsWith('$')) {
        seen.push({ id: given.id, stream: given.streamId, position: given.position!.commit } as Recorded);
      }
    });
    subscription.on('error', () => setTimeout(() => follow('end'), 20));
  };
  follow('start');
  return {
    async close() {
      isOver = true;
      await client.dispose().catch(() => {});
    },
  };
}
