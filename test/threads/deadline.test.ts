// Lane: fast, timed: it measures how long a thread waits
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Deadline, ProcessorClock, thisThread } from '../../src/threads/deadline.ts';
import { WorkerThread } from '../../src/threads/worker-thread.ts';

/** A deadline is time of a processor: what a job may take is the same however many others there are (contract H). */

const folder = mkdtempSync(join(tmpdir(), 'weir-deadline-'));
afterAll(() => rmSync(folder, { recursive: true }));
/** Where the system would tell how long a thread has had a processor; what it tells is up to the test. */
const place = join(folder, 'schedstat');
const hadMillis = (millis: number) => writeFileSync(place, `${millis * 1e6} 0 0\n`);

const passes = async (isOver: () => boolean): Promise<void> => {
  while (!isOver()) await new Promise((resolve) => setTimeout(resolve, 1));
};

describe('a deadline', () => {
  test('is over when a processor has had it for so long', async () => {
    hadMillis(500);
    const deadline = new Deadline(30, new ProcessorClock(place));
    expect(deadline.left).toBeGreaterThan(0);
    hadMillis(531);
    await passes(() => deadline.left <= 0);
    expect([deadline.spent, deadline.isCrowdedOut]).toEqual([31, false]);
  });

  test('waits where others have the processors, three times as long', async () => {
    hadMillis(500);
    const began = performance.now();
    const deadline = new Deadline(200, new ProcessorClock(place));
    await passes(() => performance.now() - began > 210);
    hadMillis(600);
    const { left } = deadline;
    // A machine that stops for the rest of it shows nothing.
    if (performance.now() - began < 590) expect(left).toBeGreaterThan(0);
    await passes(() => deadline.left <= 0);
    expect(performance.now() - began).toBeGreaterThanOrEqual(600);
    expect([deadline.spent, deadline.isCrowdedOut]).toEqual([100, true]);
  });

  test.each([
    ['tells nothing', null],
    ['has no such thread', join(folder, 'gone')],
  ])('goes by the clock where the system %s', async (_, none) => {
    const began = performance.now();
    const deadline = new Deadline(20, new ProcessorClock(none));
    await passes(() => deadline.left <= 0);
    const passed = performance.now() - began;
    expect(passed).toBeGreaterThanOrEqual(20);
    expect(deadline.spent).toBeGreaterThanOrEqual(20);
    expect(deadline.isCrowdedOut).toBe(false);
  });

  test.skipIf(thisThread() === null)('knows the time of this thread', async () => {
    const deadline = new Deadline(20, new ProcessorClock(thisThread()));
    const began = performance.now();
    await passes(() => performance.now() - began > 100);
    // It has only waited.
    const waited = deadline.spent;
    expect(waited).toBeLessThan(100);
    while (deadline.spent < waited + 20);
    expect(performance.now() - began).toBeGreaterThan(100);
  });
});

/** A thread that says it is at `place`, and does nothing but say what it is sent, unless it is to be silent. */
const entry = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from 'node:worker_threads';
    parentPort.on('message', (job) => { if (job !== 'silent') parentPort.postMessage(job); });
    parentPort.postMessage(workerData);
  `)}`,
);

describe('a job in a thread', () => {
  const run = (job: string, millis: number) =>
    new WorkerThread<string, string>({ entry, data: place, heap: 32 }).run(job, 1, millis);

  test('that has had its time is late', async () => {
    hadMillis(0);
    const done = run('silent', 100);
    let waiting = true;
    const ended = done.then(() => {
      waiting = false;
    });
    // It is at work from when it has been sent the job.
    for (let millis = 0; waiting; millis += 100) {
      hadMillis(millis);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await ended;
    expect(await done).toMatchObject({ results: [], cut: 'late' });
  });

  test('that others keep from a processor is crowded out', async () => {
    hadMillis(0);
    expect(await run('silent', 100)).toEqual({ results: [], cut: 'crowded', millis: 0 });
  });

  test('that is done says how long it took', async () => {
    hadMillis(7);
    expect(await run('said', 60_000)).toEqual({ results: ['said'], cut: null, millis: 0 });
  });
});

test('a thread that cannot start says why', async () => {
  const entry = new URL('data:text/javascript,throw new Error("no such library")');
  const thread = new WorkerThread({ entry, heap: 64 });
  const outcome = await thread.run({}, 1, 1000).catch((error: unknown) => error);
  expect(outcome).toMatchObject({
    name: 'Error',
    message: 'the thread could not start',
    cause: { message: 'no such library' },
  });
  expect(thread.alive).toBe(false);
});
