import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TierTable, tiers } from '../../src/domain/organization/tiers.ts';
import { countRequest } from '../../src/limits/count-request.ts';
import { followTiers, readTiers, type TiersReload, UnusableTiers } from '../../src/limits/tiers/tiers-in-force.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';
import { applyTiers } from '../../src/limits/windows.ts';
import { testWindows } from '../support/test-windows.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-tiers-'));
  file = join(dir, 'tiers.json');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const withRpm = (rpm: number): TierTable => tiers.map((row) => ({ ...row, rpm })) as unknown as TierTable;
const put = (text: string) => writeFileSync(file, text);
const putRpm = (rpm: number) => put(JSON.stringify({ tiers: withRpm(rpm) }));

describe('the tiers in force', () => {
  test('are those of the spec where no file is named, and never change', async () => {
    const first = await readTiers(undefined);
    expect(first.table).toBe(tiers);
    const ended = followTiers(first, { file: undefined, apply: () => {}, reloaded: () => {} });
    expect(ended.table).toBe(tiers);
    await ended.close();
  });

  test('cannot be begun with a file that is not there or not sound, and say why', async () => {
    await expect(readTiers(file)).rejects.toThrow(UnusableTiers);
    await expect(readTiers(file)).rejects.toThrow(/^The tiers file .*tiers\.json cannot be read: ENOENT/);
    putRpm(3);
    await expect(readTiers(file)).rejects.toThrow(/6 faults:\n {2}tiers\[0\]\.rpm: must be even/);
  });

  test('follow the file, and keep the old table for as long as it cannot be used', async () => {
    putRpm(2);
    const first = await readTiers(file);
    const windows = testWindows(0, { tiers: first.table });
    const heard: TiersReload[] = [];
    const following = followTiers(first, {
      file,
      apply: (table) => applyTiers(windows, table),
      reloaded: (outcome) => heard.push(outcome),
      everyMs: 5,
    });
    const me = limitSubject('k', 'p', 'o');
    const admitted = (times: number) =>
      Array.from({ length: times }, () => countRequest(windows.inference, me, 0)).filter((why) => why === 0).length;
    expect(admitted(5)).toBe(2);
    putRpm(10);
    await expect.poll(() => heard).toEqual([{ table: withRpm(10) }]);
    expect(following.table).toEqual(withRpm(10));
    // The two newest of the old limit are known (contract F.1).
    expect(admitted(20)).toBe(8);
    for (const [bad, fault] of [
      ['{', /not valid JSON/],
      [JSON.stringify({ tiers: withRpm(7) }), /must be even/],
      // Sound for the file, too large for the layout: refused all the same, and nothing is half changed.
      [JSON.stringify({ tiers: withRpm(30_002) }), /must be at most 30000/],
    ] as const) {
      const before = heard.length;
      put(bad);
      await expect.poll(() => heard.length).toBe(before + 1);
      expect(heard.at(-1)).toEqual({ fault: expect.stringMatching(fault) });
      expect(following.table).toEqual(withRpm(10));
    }
    rmSync(file);
    await expect.poll(() => heard.at(-1)).toEqual({ fault: expect.stringMatching(/cannot be read/) });
    const told = heard.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(heard).toHaveLength(told);
    writeFileSync(join(dir, 'next.json'), JSON.stringify({ tiers: withRpm(12) }));
    renameSync(join(dir, 'next.json'), file);
    await expect.poll(() => heard.at(-1)).toEqual({ table: withRpm(12) });
    await following.close();
    putRpm(2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(heard.at(-1)).toEqual({ table: withRpm(12) });
  });

  test('do not take a file that is being written for a faulty one', async () => {
    putRpm(2);
    const heard: TiersReload[] = [];
    const first = await readTiers(file);
    const following = followTiers(first, {
      file,
      apply: () => {},
      reloaded: (outcome) => heard.push(outcome),
      everyMs: 3_600_000,
    });
    const whole = JSON.stringify({ tiers: withRpm(4) });
    for (const written of [0, 1, whole.length - 1, whole.length]) {
      put(whole.slice(0, written));
      await following.look();
    }
    expect(heard).toEqual([{ table: withRpm(4) }]);
    put('{');
    await following.look();
    expect(heard).toHaveLength(1);
    await following.look();
    await following.look();
    expect(heard).toEqual([{ table: withRpm(4) }, { fault: expect.stringMatching(/not valid JSON/) }]);
    await following.close();
  });

  test('stay when what is to be done with them fails', async () => {
    putRpm(2);
    const heard: TiersReload[] = [];
    const first = await readTiers(file);
    const following = followTiers(first, {
      file,
      apply: () => {
        throw new RangeError('The limits were replaced too often.');
      },
      reloaded: (outcome) => heard.push(outcome),
      everyMs: 5,
    });
    putRpm(4);
    await expect.poll(() => heard).toEqual([{ fault: 'The limits were replaced too often.' }]);
    expect(following.table).toEqual(withRpm(2));
    await following.close();
  });
});
