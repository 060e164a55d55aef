import { chownSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { workbench } from './run.ts';

vi.setConfig({ testTimeout: 60_000 });

const bench = workbench();
afterAll(bench.clean);

const nobody = 65_534;
const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).map((entry) => join(entry.parentPath, entry.name));

test.skipIf(process.getuid?.() !== 0)('what root does on the files of a stopped gateway stays its user’s', async () => {
  await bench.json('org', 'create', '--new-store', '--name', 'Acme');
  const dirs = [bench.env.DATA_DIR, `${bench.env.DATA_DIR}.secrets`];
  for (const dir of dirs) {
    mkdirSync(dir, { recursive: true });
    for (const path of [dir, ...filesIn(dir)]) chownSync(path, nobody, nobody);
  }
  await bench.json('project', 'create', '--name', 'one');
  expect((await bench.weir(['store', 'compact'])).code).toBe(0);
  expect((await bench.weir(['secrets', 'rotate-pepper'])).code).toBe(0);
  const others = dirs.flatMap(filesIn).filter((path) => statSync(path).uid !== nobody);
  // What stays open marks itself with files that nobody needs: LMDB's lock is made anew by whoever opens first.
  expect(others.filter((path) => !path.endsWith('-lock'))).toEqual([]);
});
