import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { binaryEvent, EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterEach, describe, expect, test } from 'vitest';
import { inWords } from '../../src/config/file-fault.ts';
import { type EmbeddedOptions, startEmbedded } from '../../src/embedded/index.ts';
import { workbench } from './run.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function bench() {
  const made = workbench();
  undo.push(made.clean);
  return { ...made, store: join(made.env.DATA_DIR, 'eventstore') };
}

async function serving(dir: string, options: Partial<EmbeddedOptions> = {}) {
  const store = await startEmbedded({ dir, ...options });
  const client = new EventStoreDBClient({ endpoint: store.endpoint }, { insecure: true });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= client.dispose().then(() => store.close());
    return stopped;
  };
  undo.push(stop);
  return { client, endpoint: store.endpoint, stop };
}

const numbered = (i: number) => jsonEvent({ type: 'counted', data: { i }, metadata: { at: i } });

/** Something of everything: JSON of odd spelling, bytes, links, deleted and recreated streams, metadata, secrets. */
async function fill(client: EventStoreDBClient): Promise<void> {
  for (let i = 0; i < 30; i++) await client.appendToStream(`key-${i % 5}`, [numbered(i), numbered(i)]);
  await client.appendToStream('odd-1', [
    binaryEvent({ type: 'bytes', data: Buffer.from([0, 10, 255]), metadata: Buffer.from('no json') }),
    jsonEvent({ type: 'text', data: 'a\nb\u2028 ü "' }),
    binaryEvent({ type: '$>', data: Buffer.from('0@key-1') }),
  ]);
  await client.deleteStream('key-1');
  await client.appendToStream('key-1', numbered(100));
  await client.deleteStream('key-2');
  await client.tombstoneStream('key-3');
  await client.setStreamMetadata('key-4', { maxCount: 2, own: 'ü' });
  await client.setStreamMetadata('replay-key_1', { maxAge: 60 });
  await client.appendToStream('replay-key_1', jsonEvent({ type: 'sealed', data: {} }));
}

/** What an export holds, without what another store has of its own: positions, times, and the ids of its own events. */
const contents = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { position: _, created: __, ...rest } = JSON.parse(line) as Record<string, unknown>;
      return JSON.stringify(String(rest.type).startsWith('$') ? { ...rest, id: undefined } : rest);
    });

const count = async (client: EventStoreDBClient): Promise<number> => {
  let found = 0;
  for await (const _ of client.readAll()) found++;
  return found;
};

function child(args: readonly string[], env: object): ChildProcess & { readonly ended: Promise<unknown> } {
  const started = spawn(process.execPath, ['dist/src/main.js', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  const ended = new Promise((resolve) => started.once('close', (code, signal) => resolve(signal ?? code)));
  undo.push(async () => {
    started.kill('SIGKILL');
    await ended;
  });
  return Object.assign(started, { ended });
}

describe('a folder that cannot be looked into', () => {
  test('is not one without a store', async () => {
    const { weir, env } = bench();
    // As the administrator of this machine no folder is closed to the tests; a link in a circle is to everybody.
    symlinkSync(env.DATA_DIR, env.DATA_DIR);
    for (const argv of [
      ['project', 'list'],
      ['store', 'verify'],
      ['store', 'export', '--all', '--out', join(env.DATA_DIR, '..', 'out')],
    ]) {
      const { code, err } = await weir(argv);
      expect(err).toBe(`${join(env.DATA_DIR, 'eventstore/events.mdb')} cannot be used: its links lead in a circle.\n`);
      expect(code).toBe(1);
    }
  });

  test('is no verdict on the log', async () => {
    const { weir, env } = bench();
    symlinkSync(env.DATA_DIR, env.DATA_DIR);
    const { code, err } = await weir(['audit', 'verify']);
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(/^The log cannot be verified\. .*its links lead in a circle/),
    ]);
  });

  test('says whose it is to look there', () => {
    const refused = Object.assign(new Error('EACCES: permission denied'), {
      code: 'EACCES',
      syscall: 'stat',
      path: '/a',
    });
    expect(inWords(refused)).toBe(
      '/a cannot be used: this user may not use it. Run this as the user that the gateway runs as.',
    );
    expect(inWords(new Error('Any other.'))).toBe('Any other.');
    const folder = Object.assign(new Error('EISDIR: illegal operation'), { code: 'EISDIR', syscall: 'read' });
    expect(inWords(folder)).toBe('What was named cannot be used: it is a folder.');
  });
});

describe('weir store verify', () => {
  test('says that all is well, beside a running server and without one', async () => {
    const { weir, store } = bench();
    const { client, stop } = await serving(store);
    await fill(client);
    expect(await weir(['store', 'verify'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/: ok\. \d+ events of/),
    });
    await stop();
    const { code, out } = await weir(['store', 'verify', '--jsonl']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ dir: store, verdict: 'ok', events: 71, purged_streams: 0, damages: [] });
  });

  test('names what is damaged, and fails', async () => {
    const { weir, store } = bench();
    const { client, stop } = await serving(store);
    await client.appendToStream('key-9', [numbered(1), jsonEvent({ type: 'marked', data: { mark: 'm'.repeat(40) } })]);
    await stop();
    const file = join(store, 'events.mdb');
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf('mmmm'); at >= 0; at = bytes.indexOf('mmmm', at + 40)) bytes[at]! ^= 1;
    writeFileSync(file, bytes);
    const { code, out, err } = await weir(['store', 'verify']);
    expect(code).toBe(1);
    expect(out).toMatch(/\d+ +key-9 +1 +The record is damaged\./);
    expect(err).toBe(`The store in ${store} is corrupt.\n`);
    for (const command of [['compact'], ['backup', '--out', join(store, 'copy')]]) {
      const refused = await weir(['store', ...command]);
      expect(refused).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^The store in .+ is damaged; weir store verify says where\..+\n$/),
      });
    }
  });

  test('has files to look at, or says that it has none', async () => {
    const { weir, env } = bench();
    expect(await weir(['store', 'verify', '--dir', '/nowhere'])).toMatchObject({
      code: 1,
      err: 'There is no event store in /nowhere.\n',
    });
    Object.assign(env, { EVENTSTORE_URL: 'esdb://127.0.0.1:1' });
    for (const command of [['verify'], ['compact'], ['backup', '--out', 'x']]) {
      expect((await weir(['store', ...command])).err).toBe(
        'EVENTSTORE_URL names a cluster, whose files are its own affair; --dir names a folder.\n',
      );
    }
  });
});

describe('weir store backup', () => {
  test('copies while others write: the copy opens, is sound and has everything acknowledged before', async () => {
    const { weir, store, dir } = bench();
    const { client } = await serving(store);
    let acked = 0;
    let writing = true;
    const writers = Array.from({ length: 8 }, async (_, k) => {
      for (let i = 0; writing; i++) {
        await client.appendToStream(`busy-${k}`, [numbered(i), numbered(i)]);
        acked += 2;
      }
    });
    while (acked < 200) await wait(5);
    const before = acked;
    const out = join(dir, 'copies', 'first');
    mkdirSync(join(dir, 'copies'));
    const made = await weir(['store', 'backup', '--out', out]);
    writing = false;
    await Promise.all(writers);
    expect(`${made.code} ${made.err}`).toMatch(/^0 .*SECRETS_DIR/s);
    expect(readdirSync(join(dir, 'copies'))).toEqual(['first']);
    expect(readdirSync(out)).toEqual(['events.mdb']);
    const copy = await serving(out);
    expect(await count(copy.client)).toBeGreaterThanOrEqual(before);
    // Revisions are dense and every append is there whole: verify has seen to it, and the copy takes new ones.
    await copy.client.appendToStream('busy-0', numbered(0));
    expect(await weir(['store', 'verify', '--dir', out])).toMatchObject({ code: 0 });
    expect((await weir(['store', 'backup', '--out', out])).err).toBe(
      `${out} exists already: a backup goes into a folder of its own.\n`,
    );
  });
});

describe('weir store compact', () => {
  test('makes a stopped store smaller and nothing else; a running one it leaves alone', async () => {
    const { weir, store } = bench();
    const { client, stop } = await serving(store);
    for (let i = 0; i < 150; i++) await client.appendToStream(`key-${i}`, numbered(i));
    expect((await weir(['store', 'compact'])).err).toBe(
      `The event store in ${store} is in use by process ${process.pid}. Stop it first.\n`,
    );
    await stop();
    const { size } = statSync(join(store, 'events.mdb'));
    expect(await weir(['store', 'compact'])).toMatchObject({ code: 0, err: '' });
    expect(statSync(join(store, 'events.mdb')).size).toBeLessThan(size);
    const again = await serving(store);
    expect(await count(again.client)).toBe(150);
    await again.client.appendToStream('key-0', numbered(0), { expectedRevision: 0n });
  });

  test('that is killed leaves a whole store behind, whenever that is', { timeout: 60_000 }, async () => {
    const { weir, store, env } = bench();
    const { client, stop } = await serving(store);
    for (let i = 0; i < 100; i++) await client.appendToStream(`key-${i}`, numbered(i));
    await stop();
    for (const afterMs of [0, 40, 120]) {
      const compacting = child(['store', 'compact'], env);
      const begun = () => readdirSync(store).some((name) => name.startsWith('compacting-'));
      while (!begun() && compacting.exitCode === null) await wait(2);
      await wait(afterMs);
      compacting.kill('SIGKILL');
      await compacting.ended;
      expect(await weir(['store', 'verify'])).toMatchObject({ code: 0 });
      const again = await serving(store);
      expect(await count(again.client)).toBe(100);
      await again.stop();
    }
  });
});

describe('weir store export and import', () => {
  test('carry everything but sealed secrets into another store, bytes, ids, revisions and order alike', async () => {
    const { weir, store, dir } = bench();
    const { client, stop } = await serving(store);
    await fill(client);
    const [running, stopped, there] = ['running', 'stopped', 'there'].map((name) => join(dir, `${name}.ndjson`)) as [
      string,
      string,
      string,
    ];
    expect(await weir(['store', 'export', '--all', '--out', running])).toMatchObject({ code: 0, err: '' });
    await stop();
    expect(await weir(['store', 'export', '--all', '--out', stopped])).toMatchObject({ code: 0 });
    expect(readFileSync(stopped, 'utf8')).toBe(readFileSync(running, 'utf8'));
    expect(readFileSync(running, 'utf8')).not.toContain('replay-');

    const other = join(dir, 'other');
    expect(await weir(['store', 'import', '--in', running, '--dir', other])).toMatchObject({
      code: 0,
      out: '69 events imported, 0 of 69 were there already.\n',
    });
    expect(await weir(['store', 'import', '--in', running, '--dir', other])).toMatchObject({
      code: 0,
      out: '0 events imported, 69 of 69 were there already.\n',
    });
    await weir(['store', 'export', '--all', '--dir', other, '--out', there]);
    expect(contents(there)).toEqual(contents(running));
    const imported = await serving(other);
    const read = async (name: string) => {
      const seen = [];
      for await (const { event } of imported.client.readStream(name)) seen.push(event!);
      return seen;
    };
    expect((await read('odd-1')).map(({ data }) => data)).toEqual([
      Uint8Array.from([0, 10, 255]),
      'a\nb\u2028 ü "',
      Uint8Array.from(Buffer.from('0@key-1')),
    ]);
    expect((await read('key-1')).map(({ revision }) => revision)).toEqual([12n]);
    await expect(read('key-2')).rejects.toMatchObject({ type: 'stream-not-found' });
    await expect(read('key-3')).rejects.toMatchObject({ type: 'stream-deleted' });
  });

  test('go by EVENTSTORE_URL, both ways', async () => {
    const { weir, dir, env } = bench();
    const from = await serving(join(dir, 'from'), { port: 0 });
    const to = await serving(join(dir, 'to'), { port: 0 });
    await fill(from.client);
    const file = join(dir, 'all.ndjson');
    Object.assign(env, { EVENTSTORE_URL: `esdb://${from.endpoint}?tls=false` });
    expect(await weir(['store', 'export', '--all', '--out', file])).toMatchObject({ code: 0 });
    Object.assign(env, { EVENTSTORE_URL: `esdb://${to.endpoint}?tls=false` });
    expect(await weir(['store', 'import', '--in', file])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^69 /),
    });
    const back = join(dir, 'back.ndjson');
    await weir(['store', 'export', '--all', '--out', back]);
    expect(contents(back)).toEqual(contents(file));
    expect(existsSync(env.DATA_DIR)).toBe(false);
  });

  test('an import that is killed is finished by the same command', { timeout: 120_000 }, async () => {
    const { weir, dir, env } = bench();
    const file = join(dir, 'many.ndjson');
    const events = 6000;
    const lines = Array.from({ length: events }, (_, i) => {
      const id = `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
      const place = { position: String(i + 1), stream: `many-${i % 1000}`, revision: String(Math.floor(i / 1000)) };
      return JSON.stringify({ ...place, id, type: 'counted', created: 0, data: { i } });
    });
    writeFileSync(file, `${lines.join('\n')}\n${JSON.stringify({ weir_export: 1, events })}\n`);
    const other = join(dir, 'other');
    const importing = child(['store', 'import', '--in', file, '--dir', other], env);
    const size = () => statSync(join(other, 'events.mdb'), { throwIfNoEntry: false })?.size ?? 0;
    while (size() < 400_000 && importing.exitCode === null) await wait(2);
    importing.kill('SIGKILL');
    expect(await importing.ended).toBe('SIGKILL');
    const { code, out } = await weir(['store', 'import', '--in', file, '--dir', other]);
    expect(code).toBe(0);
    const [, written, already] = /^(\d+) events imported, (\d+) of 6000/.exec(out)!.map(Number);
    expect(written! + already!).toBe(events);
    expect(already).toBeGreaterThan(0);
    expect(written).toBeGreaterThan(0);
    const back = join(dir, 'back.ndjson');
    await weir(['store', 'export', '--all', '--dir', other, '--out', back]);
    expect(contents(back)).toEqual(contents(file));
  });

  test('streams that have lost their first events are named and left out, since no store can be given them', async () => {
    const { weir, dir } = bench();
    const line = (position: number, stream: string, revision: number) =>
      JSON.stringify({
        position: `${position}`,
        stream,
        revision: `${revision}`,
        id: crypto.randomUUID(),
        type: 't',
        created: 0,
        data: {},
      });
    const file = join(dir, 'part.ndjson');
    const lines = [line(1, 'whole-1', 0), line(2, 'part-1', 3), line(3, 'part-1', 4), line(4, 'whole-1', 1)];
    writeFileSync(file, `${lines.join('\n')}\n{"weir_export":1,"events":4}\n`);
    const { code, out, err } = await weir(['store', 'import', '--in', file, '--dir', join(dir, 'new')]);
    expect(code).toBe(1);
    expect(out).toBe('2 events imported, 0 of 4 were there already.\n');
    expect(err).toBe(
      'Everything else is imported. One stream lacks events that were purged or truncated, and cannot be made anew in any store: part-1.\n',
    );
  });

  test('a store with another history is left as it is from there on', async () => {
    const { weir, store, dir } = bench();
    const { client, stop } = await serving(store);
    await client.appendToStream('key-1', [numbered(1), numbered(2)]);
    await stop();
    const file = join(dir, 'all.ndjson');
    await weir(['store', 'export', '--all', '--out', file]);
    const other = await serving(join(dir, 'other'));
    await other.client.appendToStream('key-1', numbered(1));
    const { code, err } = await weir(['store', 'import', '--in', file, '--dir', join(dir, 'other')]);
    expect(code).toBe(1);
    expect(err).toBe(
      'This store has another history: key-1 has something else there at revision 0. Nothing further was imported.\n',
    );
    expect(await count(other.client)).toBe(1);
  });

  test('a file that is damaged or not complete is refused before anything is written', async () => {
    const { weir, dir, store } = bench();
    const good = JSON.stringify({
      position: '1',
      stream: 's-1',
      revision: '0',
      id: crypto.randomUUID(),
      type: 't',
      created: 0,
      data: {},
    });
    const end = (events: number) => `{"weir_export":1,"events":${events}}`;
    const file = join(dir, 'bad.ndjson');
    const cases: [text: string, complaint: string][] = [
      [`${good}\n`, `${file} is not complete: its last line is missing.`],
      [`${good}\n${end(2)}\n`, `${file} should hold 2 events and holds 1.`],
      [`${good}\n{"half`, `Line 2 of ${file} is not a JSON object.`],
      [`${good}\n{"stream":"x"}\n${end(2)}\n`, `Line 2 of ${file} has no data.`],
      [`${good}\n${good}\n${end(2)}\n`, `${file} is not in the order of the log.`],
      [`${good}\n${end(1)}\n${good}\n`, `${file} goes on behind its last line, in line 3.`],
      [`{"weir_export":2}\n`, `Line 1 of ${file} is of another version of Weir.`],
    ];
    for (const [text, complaint] of cases) {
      writeFileSync(file, text);
      expect(await weir(['store', 'import', '--in', file])).toMatchObject({ code: 1, err: `${complaint}\n` });
    }
    expect((await weir(['store', 'import', '--in', join(dir, 'none')])).err).toBe(
      `There is no file ${join(dir, 'none')}.\n`,
    );
    expect(existsSync(store)).toBe(false);
  });

  test('an export has a store and a place to go to, or says what is missing', async () => {
    const { weir, dir, store } = bench();
    const out = join(dir, 'out.ndjson');
    expect((await weir(['store', 'export', '--all', '--out', out])).err).toBe(`There is no event store in ${store}.\n`);
    await (await serving(store)).stop();
    expect((await weir(['store', 'export', '--all', '--out', join(dir, 'no', 'out')])).err).toBe(
      `There is no folder ${join(dir, 'no')}.\n`,
    );
    writeFileSync(out, '');
    expect((await weir(['store', 'export', '--all', '--out', out])).err).toBe(`${out} exists already.\n`);
    expect((await weir(['store', 'export'])).err).toContain("required option '--out <file>' not specified");
  });
});

describe('weir eventstore', () => {
  test('serves until SIGTERM, says where, and leaves no lock; a second one is told who has the store', async () => {
    const { weir, store, env } = bench();
    const first = child(['eventstore', '--port', '0'], env);
    let said = '';
    first.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const listens = () => /^The event store listens on (127\.0\.0\.1:\d+)\n$/.exec(said)?.[1];
    while (listens() === undefined && first.exitCode === null) await wait(5);
    const client = EventStoreDBClient.connectionString(`esdb://${listens()}?tls=false`);
    await client.appendToStream('alone-1', numbered(1));
    await client.dispose();
    expect(await weir(['eventstore'])).toMatchObject({
      code: 1,
      err: `The event store in ${store} is in use by process ${first.pid}.\n`,
    });
    first.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    expect(readdirSync(store).filter((name) => name.includes('lock.'))).toEqual([]);
  });

  test('says in one sentence what is wrong with its options', async () => {
    const { weir, dir } = bench();
    const text = join(dir, 'text');
    writeFileSync(text, 'no certificate');
    const cases: [args: string[], complaint: string][] = [
      [['--tls-cert', text], 'TLS needs both --tls-cert and --tls-key.'],
      [['--user', 'a'], 'A user needs both --user and --password-file.'],
      [
        ['--user', 'a', '--password-file', text],
        '--user needs TLS: without it, clients do not send their credentials.',
      ],
      [['--tls-cert', text, '--tls-key', text], 'TLS needs --port.'],
      [
        ['--tls-cert', text, '--tls-key', text, '--port', '0'],
        `${text} and ${text} are not a certificate and its private key in PEM form.`,
      ],
      [['--tls-cert', '/none', '--tls-key', text, '--port', '0'], '/none cannot be read: it is not there.'],
    ];
    for (const at of ['store', 'store:0', 'store:70000', 'a b:1']) {
      const { code, err } = await weir(['eventstore', '--advertise', at]);
      expect([code === 0, err]).toEqual([false, expect.stringContaining('Give a host and a port')]);
    }
    for (const [args, complaint] of cases) {
      const code = complaint.startsWith(text) || complaint.startsWith('/none') ? 1 : 64;
      expect(await weir(['eventstore', ...args])).toMatchObject({ code, err: `${complaint}\n` });
    }
  });
});
