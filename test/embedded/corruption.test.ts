import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyStore } from '../../src/embedded/maintenance/verify.ts';
import { runStore } from '../../src/embedded/run-store.ts';
import { damage, dice, kinds } from './damage.ts';
import { collect, connect, freshDir, numbered } from './store-under-test.ts';

// `WEIR_SEEDS=1000 npm test -- corruption` for the long form.
const SEEDS = Number(process.env.WEIR_SEEDS ?? 24);
const reader = fileURLToPath(new URL('./read-damaged.mjs', import.meta.url));
const MARK = 'marker-'.repeat(6);

interface Read {
  readonly events: readonly string[];
  readonly error?: string;
}
type Outcome =
  | { readonly refused: string }
  | { readonly reads: Readonly<Record<string, Read>> }
  | { readonly killed: string };

const streams = [
  ...Array.from({ length: 40 }, (_, i) => `plain-${i}`),
  'aged-1',
  'soft-1',
  'hard-1',
  'cut-1',
  'large-1',
  '$$soft-1',
];

let base: string;
let older: Buffer;
let sound: Buffer;

/** A store with everything in it that there can be, purged and deleted streams included, closed properly. */
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'weir-corrupt-'));
  const dir = join(base, 'sound');
  mkdirSync(dir);
  let clock = Date.now() - 3_600_000;
  for (let round = 0; round < 2; round++) {
    const store = await runStore({
      dir,
      listen: { socket: join(base, 's.sock') },
      sweepEveryMs: 20,
      now: () => clock,
      limits: { ballastBytes: 0 },
    });
    const client = connect(store.endpoint);
    await client.setStreamMetadata('aged-1', { maxAge: 60 });
    await client.setStreamMetadata('cut-1', { maxCount: 5 });
    for (let i = 0; i < 8; i++) {
      for (const name of ['aged-1', 'cut-1']) await client.appendToStream(name, [numbered(i), numbered(i)]);
      await Promise.all(
        Array.from({ length: 40 }, (_, k) =>
          client.appendToStream(`plain-${k}`, jsonEvent({ type: 'noted', data: { i, MARK } })),
        ),
      );
    }
    await client.appendToStream('large-1', jsonEvent({ type: 'large', data: { text: 'x'.repeat(30_000) } }));
    await client.appendToStream('soft-1', numbered(round));
    await client.deleteStream('soft-1');
    if (round === 1) await client.tombstoneStream('hard-1');
    clock += 61_000;
    const aged = async () =>
      (await collect(client.readAll())).filter(({ event }) => event!.streamId === 'aged-1').length;
    while ((await aged()) > 0) await wait(10);
    await client.dispose();
    await store.close();
    if (round === 0) older = readFileSync(join(dir, 'events.mdb'));
    else sound = readFileSync(join(dir, 'events.mdb'));
  }
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

function place(dir: string, bytes: Buffer): string {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'events.mdb'), bytes);
  return dir;
}

/** Reads each store in a process that serves all of them in turn, and a new one after each that it did not survive. */
async function readEach(dirs: readonly string[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  while (outcomes.length < dirs.length) {
    const child = spawn(process.execPath, [reader], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    child.stdin.on('error', () => {});
    createInterface(child.stdout).on('line', (line) => outcomes.push(JSON.parse(line) as Outcome));
    for (const dir of dirs.slice(outcomes.length)) child.stdin.write(`${JSON.stringify({ dir, streams })}\n`);
    child.stdin.end();
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
      child.once('close', (exit, by) => resolve([exit, by])),
    );
    if (code !== 0) outcomes.push({ killed: signal ?? `status ${code}` });
  }
  return outcomes;
}

/** What is wrong with what was read, against what was written: other events, or fewer without a word. */
function lies(outcome: Outcome, truth: Readonly<Record<string, Read>>): string[] {
  if (!('reads' in outcome)) return [];
  const found: string[] = [];
  for (const [name, { events, error }] of Object.entries(outcome.reads)) {
    const expected = truth[name]!;
    if (error === expected.error) {
      if (events.join('\n') !== expected.events.join('\n'))
        found.push(`${name}: ${events.length} events without a word`);
    } else if (events.some((event, i) => event !== expected.events[i])) found.push(`${name}: an event that is another`);
  }
  return found;
}

const inTwos = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  const next = [...items.entries()];
  const lane = async () => {
    for (let item = next.shift(); item !== undefined; item = next.shift()) results[item[0]] = await work(item[1]);
  };
  await Promise.all([lane(), lane()]);
  return results;
};

describe('a damaged store', () => {
  test(`in ${SEEDS} ways (${kinds.join(', ')}) is found out by verify or refused, and never read wrongly`, {
    timeout: 60_000 + SEEDS * 5000,
  }, async () => {
    const dir = freshDir();
    const untouched = place(join(dir, 'untouched'), sound);
    expect(await verifyStore(untouched)).toMatchObject({ verdict: 'ok', purgedStreams: 1, damages: [] });
    const [told] = await readEach([untouched]);
    const truth = (told as { reads: Record<string, Read> }).reads;
    expect(truth.forwards!.events.length).toBeGreaterThan(600);
    expect(truth.backwards!.events).toEqual([...truth.forwards!.events].reverse());

    const cases = Array.from({ length: SEEDS }, (_, seed) => ({ seed, ...damage(sound, older, seed) }));
    const dirs = cases.map(({ seed, bytes }) => place(join(dir, `${seed}`), bytes));
    const reports = await inTwos(dirs, (damaged) => verifyStore(damaged));
    const outcomes = await readEach(dirs);
    const failures = cases.flatMap(({ seed, what }, i) => {
      const outcome = outcomes[i]!;
      const { verdict } = reports[i]!;
      const wrong = lies(outcome, truth);
      if ('killed' in outcome) wrong.push(`the server was killed: ${outcome.killed}`);
      // Where verify finds nothing, there must be nothing: everything is there and as it was.
      if (verdict === 'ok' && !('reads' in outcome)) wrong.push('verify found nothing in a store that does not open');
      if (verdict === 'ok' && 'reads' in outcome) {
        for (const [name, { error }] of Object.entries(outcome.reads)) {
          if (error !== truth[name]!.error) wrong.push(`verify found nothing, but ${name} ends with ${error}`);
        }
      }
      return wrong.map((line) => `seed ${seed}, ${what}: ${line}`);
    });
    expect(failures).toEqual([]);
    // Most pages are in use, so most of these must have been noticed.
    expect(reports.filter(({ verdict }) => verdict === 'corrupt').length).toBeGreaterThan(SEEDS / 3);
  });

  test('has its damaged records named, each by position, stream and revision', async () => {
    const bytes = Buffer.from(sound);
    for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) bytes[at + 5]! ^= 4;
    const { verdict, damages, more } = await verifyStore(place(freshDir(), bytes));
    expect(verdict).toBe('corrupt');
    expect(more).toBe(0);
    expect(new Set(damages.map(({ what }) => what))).toEqual(new Set(['The record is damaged.']));
    const named = damages.map(({ stream, revision }) => `${stream}@${revision}`);
    const expected = Array.from({ length: 40 }, (_, k) => Array.from({ length: 16 }, (_, i) => `plain-${k}@${i}`));
    expect(named.sort()).toEqual(expected.flat().sort());
    expect(damages.every(({ position }) => position! > 0)).toBe(true);
  });

  test('would often not be found out without the checksums', async () => {
    const marks: number[] = [];
    for (let at = sound.indexOf(MARK); at >= 0; at = sound.indexOf(MARK, at + 1)) marks.push(at);
    const below = dice(1);
    const flipped = Array.from({ length: 4 }, (_, i) => {
      const bytes = Buffer.from(sound);
      bytes[marks[below(marks.length)]! + below(MARK.length)]! ^= 1;
      return place(join(freshDir(), `${i}`), bytes);
    });
    const without = await inTwos(flipped, (dir) => verifyStore(dir, { skipChecksums: true }));
    expect(without.map(({ verdict }) => verdict)).toContain('ok');
  });
});
