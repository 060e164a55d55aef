// Lane: fast, alone: it puts another in the place of a module
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { creditWindows } from '../../src/limits/families.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { SnapshotFiles } from '../../src/limits/snapshot/snapshot-files.ts';
import { at, attempt, clock, open, seen, windows } from './window-files.ts';

vi.setConfig({ testTimeout: 60_000 });

const names = () => readdirSync(at.dir).sort();
const file = (number: number) => join(at.dir, `inference-${number}.windows`);

describe('the files of the windows', () => {
  test('bring back what was saved, and nothing that was not', async () => {
    const store = windows();
    const { files, restored } = await open(store, { fresh: true });
    expect(restored).toBeNull();
    attempt(store, 1, 5);
    await files.save();
    attempt(store, 1, 2);
    attempt(store, 2);
    await files.save();
    // What comes after dies with the process.
    attempt(store, 1, 100);
    const next = windows();
    const after = await open(next);
    expect(after.restored).toEqual({ records: expect.any(Number), refused: [], halfFull: false });
    expect([seen(next, 1), seen(next, 2)]).toEqual([7, 1]);
    expect(statSync(file(1)).mode & 0o777).toBe(0o600);
  });

  test('hold everything when they are closed, and nothing more is missing then', async () => {
    const store = windows();
    const { files } = await open(store, { fresh: true });
    attempt(store, 1, 5);
    await files.close();
    const next = windows();
    expect((await open(next)).restored?.halfFull).toBe(false);
    expect(seen(next, 1)).toBe(5);
  });

  test('of a run in which nobody came are no reason for caution', async () => {
    await (await open(windows(), { fresh: true })).files.close();
    const next = windows();
    expect((await open(next)).restored).toEqual({ records: 0, refused: [], halfFull: false });
    attempt(next, 1);
    expect(inspect(next, 'key', 'key_1', clock.monotonic())?.windows[0]?.used).toBe(1);
  });

  test('that are missing where somebody has been before make the minute begin half used', async () => {
    const store = windows();
    expect((await open(store)).restored).toEqual({ records: 0, refused: [], halfFull: true });
    attempt(store, 1);
    expect(inspect(store, 'key', 'key_1', clock.monotonic())?.windows[0]?.used).toBe(451);
  });

  test('begin anew when they have become long, and the old one goes when all is in the new one', async () => {
    const store = windows();
    const { files } = await open(store, { fresh: true, longestBytes: 2_000 });
    attempt(store, 1, 3);
    attempt(store, 2, 4);
    await files.save();
    const numbers = new Set<string>();
    for (let n = 0; n < 60; n++) {
      attempt(store, 1);
      await files.save();
      for (const name of names()) numbers.add(name);
      expect(names().length).toBeLessThanOrEqual(2);
    }
    expect(numbers.size).toBeGreaterThan(2);
    expect(statSync(join(at.dir, names().at(-1)!)).size).toBeLessThan(20_000);
    const next = windows();
    await open(next);
    expect([seen(next, 1), seen(next, 2)]).toEqual([63, 4]);
  });

  test('are read in the order of their numbers, also beyond nine', async () => {
    for (let run = 1; run <= 12; run++) {
      const store = windows();
      const { files } = await open(store, { fresh: run === 1 });
      expect(seen(store, 1)).toBe(run - 1);
      attempt(store, 1);
      await files.close();
    }
    expect(names()).toEqual(['inference-12.windows']);
  });

  test('that end in the middle of a chunk give what came before, and make the minute begin half used', async () => {
    const store = windows();
    const { files } = await open(store, { fresh: true });
    attempt(store, 1, 5);
    await files.save();
    const sound = statSync(file(1)).size;
    attempt(store, 1, 5);
    await files.save();
    writeFileSync(file(1), readFileSync(file(1)).subarray(0, sound + 30));
    const next = windows();
    const { restored } = await open(next);
    expect(restored).toMatchObject({ halfFull: true, refused: [{ buffer: 0, offset: sound, reason: 'truncated' }] });
    expect(seen(next, 1)).toBe(5);
    expect(inspect(next, 'key', 'key_1', clock.monotonic())?.windows[0]?.used).toBe(450);
  });

  test('that are of another log, another family or nonsense are refused, and replaced by sound ones', async () => {
    const other = windows('log_2');
    const { files } = await open(other, { fresh: true });
    attempt(other, 1, 500);
    await files.close();
    const mine = windows('log_1');
    const foreign = await open(mine);
    expect(foreign.restored).toMatchObject({ records: 0, halfFull: true, refused: [{ reason: 'other_family' }] });
    expect(seen(mine, 1)).toBe(0);
    await foreign.files.close();
    expect(names()).toEqual(['inference-2.windows']);
    appendFileSync(file(2), 'nonsense');
    writeFileSync(join(at.dir, 'inference-x.windows'), 'not ours');
    const third = await open(windows('log_1'));
    expect(third.restored).toMatchObject({ halfFull: true, refused: [{ reason: 'not_a_snapshot' }] });
    const credits = creditWindows({ owner: 'log_1' });
    writeFileSync(join(at.dir, 'credits-1.windows'), readFileSync(file(2)));
    const { restored } = await SnapshotFiles.open({
      dir: at.dir,
      family: 'credits',
      store: credits,
      clock,
      fresh: false,
    });
    expect(restored?.refused[0]?.reason).toBe('other_family');
  });

  test('that cannot be begun are begun later, with everything in them', async () => {
    const store = windows();
    const { files } = await open(store, { fresh: true });
    attempt(store, 1, 2);
    rmSync(at.dir, { recursive: true });
    await expect(files.save()).rejects.toThrow(/ENOENT/);
    attempt(store, 2, 1);
    await expect(files.save()).rejects.toThrow(/ENOENT/);
    mkdirSync(at.dir);
    await files.close();
    const next = windows();
    expect((await open(next)).restored?.halfFull).toBe(false);
    expect([seen(next, 1), seen(next, 2)]).toEqual([2, 1]);
  });

  test('lose nothing when writing fails in the middle of a chunk', async () => {
    const store = windows();
    const { files } = await open(store, { fresh: true });
    attempt(store, 1, 2);
    await files.save();
    const probe = await openFile(join(at.dir, 'probe'), 'w');
    const handles = Object.getPrototypeOf(probe) as FileHandle;
    await probe.close();
    rmSync(join(at.dir, 'probe'));
    const full = vi.spyOn(handles, 'appendFile').mockImplementationOnce(async function (this: FileHandle, data) {
      await this.write((data as Uint8Array).subarray(0, 20));
      throw new Error('no space left');
    });
    attempt(store, 1, 3);
    attempt(store, 2, 1);
    await expect(files.save()).rejects.toThrow('no space left');
    full.mockRestore();
    await files.save();
    expect(names()).toEqual(['inference-2.windows']);
    const next = windows();
    expect((await open(next)).restored?.refused).toEqual([]);
    expect([seen(next, 1), seen(next, 2)]).toEqual([5, 1]);
  });

  test('never forget and never invent an attempt, wherever the process ends', async () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ key: fc.nat(5), times: fc.integer({ min: 1, max: 4 }) }) },
      { weight: 3, arbitrary: fc.constant('save' as const) },
      { weight: 1, arbitrary: fc.constant('die' as const) },
      { weight: 1, arbitrary: fc.constant('stop' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        rmSync(at.dir, { recursive: true, force: true });
        let store = windows();
        let { files } = await open(store, { fresh: true, longestBytes: 600 });
        const live = Array.from({ length: 6 }, () => 0);
        let saved = [...live];
        const begin = async () => {
          store = windows();
          ({ files } = await open(store, { longestBytes: 600 }));
          live.splice(0, 6, ...saved);
          expect(live.map((_, key) => seen(store, key))).toEqual(saved);
        };
        await files.save();
        for (const each of steps) {
          if (each === 'save') {
            await files.save();
            saved = [...live];
          } else if (each === 'die') {
            await begin();
          } else if (each === 'stop') {
            await files.close();
            saved = [...live];
            await begin();
          } else {
            attempt(store, each.key, each.times);
            live[each.key]! += each.times;
          }
        }
        await files.close();
      }),
      { numRuns: 60 },
    );
  });
});
