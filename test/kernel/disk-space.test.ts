import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { diskSpace } from '../../src/kernel/rows/disk-space.ts';

/** A disk that has no room for the first so many writes. */
const stage = (fullFor: number) => {
  const told: unknown[] = [];
  const disk = diskSpace(tmpdir(), (error) => told.push(error));
  let tries = 0;
  const work = async (): Promise<void> => {
    if (++tries <= fullFor) throw Object.assign(new Error('no space'), { code: 28 });
  };
  return { disk, told, write: () => disk.write(work), tries: () => tries };
};

test('a write is made again until there is room, which is told once', async () => {
  const { disk, told, write, tries } = stage(2);
  const writing = write();
  await expect.poll(() => disk.none).toBe(true);
  expect(await writing).toBe(true);
  expect(disk.none).toBe(false);
  expect(tries()).toBe(3);
  expect(told).toHaveLength(1);
});

test('who waits for room does not wait any longer at the end, and who comes then tries once', async () => {
  const { disk, write, tries } = stage(2);
  const writing = write();
  await expect.poll(() => disk.none).toBe(true);
  disk.end();
  expect(await writing).toBe(false);
  expect(tries()).toBe(1);
  expect(await write()).toBe(false);
  expect(await write()).toBe(true);
  expect(tries()).toBe(3);
});

test('what fails for another reason is told to its caller', async () => {
  const { disk } = stage(0);
  await expect(disk.write(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});
