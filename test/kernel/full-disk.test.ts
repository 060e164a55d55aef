// Lane: middle, alone: it starts a process
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { compile, noCompiler } from '../torture/scene.ts';

if (noCompiler !== undefined) process.stderr.write(`SKIPPED: rows on a full disk: ${noCompiler}\n`);

test.skipIf(noCompiler !== undefined)(
  'rows whose last commit found no room can be closed, and are as the one before left them',
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'weir-rows-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const env = {
      ...process.env,
      LD_PRELOAD: compile('../embedded/disk-shim.c', dir),
      DISK_FULL_WHILE: join(dir, 'FULL'),
      DIR: join(dir, 'rows'),
    };
    const script = fileURLToPath(new URL('full-disk-writer.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script], { env });
    expect(JSON.parse(stdout)).toEqual({ code: 28, read: { is: 'first' } });
  },
);
