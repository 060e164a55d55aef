// Lane: fast, alone: it puts another in the place of a module
import { afterEach, describe, expect, test, vi } from 'vitest';
import { start } from '../../src/limits/count-request.ts';
import { inferenceWindows } from '../../src/limits/families.ts';
import { upkeep } from '../../src/limits/upkeep.ts';
import { limitSubject, type Trouble } from '../../src/limits/window/window-store.ts';
import { attempt, clock, open, seen, windows } from './window-files.ts';

vi.setConfig({ testTimeout: 60_000 });

describe('upkeep', () => {
  afterEach(() => vi.useRealTimers());

  test('saves once a second and at the end, tells when it cannot, frees records and ends forgotten tickets', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const troubles: Trouble[] = [];
    const store = inferenceWindows({ owner: 'log_1', tierOf: () => 5, report: (trouble) => troubles.push(trouble) });
    const { files } = await open(store, { fresh: true });
    const errors: unknown[] = [];
    const save = vi.spyOn(files, 'save');
    const end = upkeep({ kept: [{ store, files }], clock, longestRequestMs: 60_000, unsaved: (e) => errors.push(e) });
    const second = async () => {
      const calls = save.mock.calls.length;
      await vi.waitFor(() => {
        vi.advanceTimersByTime(1000);
        expect(save.mock.calls.length).toBeGreaterThan(calls);
      });
      await save.mock.results.at(-1)!.value.catch(() => {});
    };
    attempt(store, 1, 3);
    await second();
    const read = windows();
    await open(read);
    expect(seen(read, 1)).toBe(3);
    for (const outage of ['first', 'second']) {
      errors.splice(0);
      for (const time of ['once', 'again']) {
        save.mockRejectedValueOnce(new Error(`disk full, ${outage} ${time}`));
        await second();
      }
      await vi.waitFor(() => expect(errors).toEqual([new Error(`disk full, ${outage} once`)]));
      await second();
    }

    start(store, limitSubject('key_2', 'proj', 'org'), clock.monotonic());
    clock.at += 60_000;
    await second();
    expect(troubles).toEqual([]);
    clock.at += 1_001;
    await second();
    expect(troubles).toEqual([expect.objectContaining({ kind: 'ticket_forgotten', key: 'key_2' })]);
    expect(store.size).toBe(4);
    clock.at += 2 * 86_400_000;
    for (let round = 0; round < 3; round++) await second();
    expect(store.size).toBe(0);
    attempt(store, 3, 4);
    await end();
    const last = windows();
    await open(last);
    expect(seen(last, 3)).toBe(4);
  });
});
