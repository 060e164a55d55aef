import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { streamNameFilter } from '@eventstore/db-client';
import { expect, test } from 'vitest';
import { connect, freshDir, serveInChild } from '../embedded/store-under-test.ts';
import { collect, events, fresh, upTo } from './events.ts';
import { eventStoreClient } from './eventstore-client.ts';
import { hear } from './hear.ts';
import { embeddedTest, isEmbedded, theClient, theTarget, useServer } from './target.ts';

useServer(eventStoreClient);

const own = (prefix: string, more: object = {}) => ({ filter: streamNameFilter({ prefixes: [prefix], ...more }) });
const placed = (commit: bigint) => ({ commit, prepare: commit });

/** A handler of checkpoints that keeps them. */
const keeping =
  (marks: bigint[]) =>
  (_: unknown, { commit }: { readonly commit: bigint }) =>
    void marks.push(commit);

test('35 checkpoints grow, come as often as they should, and lose nothing to who resumes from any of them', async () => {
  const prefix = fresh('mark');
  const { position } = await theClient().appendToStream(`${prefix}_0`, events(1));
  for (let i = 0; i < 10; i++) await theClient().appendToStream(`${prefix}_${i % 2}`, events(20, i * 20));
  const marks: bigint[] = [];
  const more = { maxSearchWindow: 10, checkpointInterval: 2, checkpointReached: keeping(marks) };
  const heard = hear(theClient().subscribeToAll({ fromPosition: position!, ...own(`${prefix}_1`, more) }));
  await heard.caughtUp();
  await heard.stop();
  // 200 records and whatever else others write meanwhile: one each 20, and one before catching up.
  expect(marks.length).toBeGreaterThanOrEqual(10);
  if (isEmbedded) expect(marks).toHaveLength(11);
  expect(marks.every((mark, i) => i === 0 || mark >= marks[i - 1]!)).toBe(true);
  const log = await collect(theClient().readAll({ fromPosition: position! }));
  for (const mark of marks) {
    const rest = log.filter(({ event }) => event!.streamId === `${prefix}_1` && event!.position!.commit > mark);
    const resumed = hear(theClient().subscribeToAll({ fromPosition: placed(mark), ...own(`${prefix}_1`) }));
    await resumed.caughtUp();
    await resumed.until(({ events }) => events.length >= rest.length);
    await resumed.stop();
    expect(resumed.events.map(({ event }) => event!.id)).toEqual(rest.map(({ event }) => event!.id));
  }
});

test('35 checkpoints come while live too, and not beyond what there is', async () => {
  const marks: bigint[] = [];
  const more = { checkpointReached: keeping(marks) };
  const heard = hear(theClient().subscribeToAll({ fromPosition: 'end', ...own(fresh('nothing'), more) }));
  await heard.caughtUp();
  const before = marks.length;
  const { position } = await theClient().appendToStream(fresh('other'), events(64));
  while (marks.length < before + 2) await wait(5);
  expect(marks.length).toBe(before + 2);
  if (isEmbedded) expect(marks.at(-1)).toBe(position!.commit);
  await heard.stop();
});

embeddedTest(
  '36 who resumes after a SIGKILL of the server, from the last event seen, sees all and nothing twice',
  {
    timeout: 60_000,
  },
  async () => {
    const dir = freshDir();
    const seen: string[] = [];
    const acknowledged: string[] = [];
    let after: bigint | undefined;
    for (let life = 0; life < 3; life++) {
      const child = await serveInChild(dir, { embedded: true });
      const client = connect(child.endpoint);
      let revision = -1n;
      if (life > 0) for await (const { event } of client.readStream('resume-1')) revision = event!.revision;
      const from = after === undefined ? ('start' as const) : placed(after);
      const heard = hear(client.subscribeToAll({ fromPosition: from, ...own('resume-') }));
      const writing = (async () => {
        for (let i = 0; ; i++) {
          const [event] = events(1, i);
          const answer = await client.appendToStream('resume-1', event!, {
            expectedRevision: revision < 0n ? 'no_stream' : revision,
          });
          revision = answer.nextExpectedRevision;
          acknowledged.push(event!.id);
        }
      })().catch(() => {});
      await heard.until(({ events }) => events.length >= 50);
      child.process.kill('SIGKILL');
      await Promise.all([writing, child.exited]);
      seen.push(...heard.events.map(({ event }) => event!.id));
      after = heard.events.at(-1)!.event!.position!.commit;
    }
    const last = connect((await serveInChild(dir, { embedded: true })).endpoint);
    const rest = hear(last.subscribeToAll({ fromPosition: placed(after!), ...own('resume-') }));
    await rest.caughtUp();
    seen.push(...rest.events.map(({ event }) => event!.id));
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual((await collect(last.readStream('resume-1'))).map(({ event }) => event!.id));
    const heardOf = new Set(seen);
    expect(acknowledged.filter((id) => !heardOf.has(id))).toEqual([]);
  },
);

test('36 a client that is killed by SIGKILL resumes from what it wrote down, and misses and doubles nothing', {
  timeout: 60_000,
}, async () => {
  const prefix = fresh('reader');
  const file = join(freshDir(), 'seen');
  const seen = () => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []);
  const readers: ChildProcess[] = [];
  const read = () => {
    const script = fileURLToPath(new URL('./reader.mjs', import.meta.url));
    const child = spawn(process.execPath, [script, JSON.stringify(theTarget()), prefix, file], { stdio: 'inherit' });
    readers.push(child);
    return child;
  };
  let written = 0;
  try {
    for (const until of [20, 40, 60]) {
      const reader = read();
      while (seen().length < until) {
        await theClient().appendToStream(`${prefix}_${written % 3}`, events(1, written));
        written++;
      }
      const gone = once(reader, 'exit');
      reader.kill('SIGKILL');
      await gone;
    }
    const total = written;
    read();
    while (seen().length < total) await wait(5);
    await wait(50);
  } finally {
    for (const reader of readers) reader.kill('SIGKILL');
  }
  expect(seen().map((line) => Number(line.split(' ')[1]))).toEqual(upTo(written));
});

test('39 the next event waits until what is done at a checkpoint is done', async () => {
  const prefix = fresh('wait');
  const { position } = await theClient().appendToStream(`${prefix}_0`, events(1));
  await theClient().appendToStream(`${prefix}_0`, events(100, 1));
  const order: string[] = [];
  const checkpointReached = async () => {
    order.push('begin');
    await wait(10);
    order.push('end');
  };
  const more = { maxSearchWindow: 10, checkpointInterval: 1, checkpointReached };
  const subscription = theClient().subscribeToAll({ fromPosition: position!, ...own(prefix, more) });
  subscription.on('data', () => order.push('event'));
  const heard = hear(subscription);
  await heard.until(({ events }) => events.length === 100);
  await heard.stop();
  expect(order.filter((what) => what === 'begin').length).toBeGreaterThanOrEqual(9);
  expect(order.every((what, i) => what !== 'begin' || i + 1 === order.length || order[i + 1] === 'end')).toBe(true);
});
