// Lane: fast, alone: it replaces a module of Node
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { toFile } from '../../../src/audit/log/sinks/file-sink.ts';
import { checkpointText, parsedCheckpoint } from '../../../src/merkle/checkpoint.ts';
import { signed, signerOf } from '../../../src/merkle/note.ts';
import { rootOf } from '../../../src/merkle/tree.ts';
import { leafOf, sourceOf } from '../../merkle/reference.ts';

/** The error of the next attempt to open a file for reading. */
const reading = vi.hoisted(() => ({ fails: undefined as string | undefined }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  return {
    ...real,
    open: async (path: string, flags: string, mode?: number) => {
      const code = reading.fails;
      if (flags === 'r' && code !== undefined) throw Object.assign(new Error(code), { code });
      return real.open(path, flags, mode);
    },
  };
});

const leaves = sourceOf(Array.from({ length: 10 }, (_, i) => leafOf(Buffer.from(String(i)))));
const own = { leaves: () => leaves, size: () => 10, covered: async () => 10 };
const checkpoint = (size: number) =>
  parsedCheckpoint(
    signed(
      checkpointText({ origin: 'weir/log', size, root: rootOf(leaves, size) }),
      signerOf('weir/log', Buffer.alloc(32, 1)),
    ),
  )!;

const folder = mkdtempSync(join(tmpdir(), 'weir-sink-'));
afterEach(() => {
  reading.fails = undefined;
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('a file that cannot be read', () => {
  const path = join(folder, 'checkpoints');

  test.each(['EMFILE', 'EIO'])('because of %s may have another history: nothing is appended', async (code) => {
    writeFileSync(path, checkpoint(5).signed);
    reading.fails = code;
    await expect(toFile(path, own)(checkpoint(10))).rejects.toThrow(code);
    expect(readFileSync(path, 'utf8')).toBe(checkpoint(5).signed);
  });

  test.each(['EACCES', 'EPERM'])('because of %s may still be written', async (code) => {
    writeFileSync(path, checkpoint(5).signed);
    reading.fails = code;
    await toFile(path, own)(checkpoint(10));
    expect(readFileSync(path, 'utf8')).toBe(checkpoint(5).signed + checkpoint(10).signed);
  });
});
