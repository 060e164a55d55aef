import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createKey } from './calls.ts';
import { isRemote, noEmbedded } from './remote-store.ts';
import { freshDir, runWeir, startServer } from './server.ts';

vi.setConfig({ testTimeout: 120_000 });

/** What lies in a folder and is not for its owner alone: its path and its mode. */
const tooOpen = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    const mode = statSync(path).mode & 0o777;
    return mode === (entry.isDirectory() ? 0o700 : 0o600) ? [] : [`${path} ${mode.toString(8)}`];
  });

let usual = 0;
beforeAll(() => {
  // Processes inherit it: as open as can be.
  usual = process.umask(0);
});
afterAll(() => void process.umask(usual));

test('whatever lies under DATA_DIR is for its owner alone, also where everybody may use the folder itself', async ({
  skip,
}) => {
  skip(isRemote, noEmbedded);
  const dataDir = freshDir();
  mkdirSync(dataDir);
  chmodSync(dataDir, 0o777);
  const server = await startServer({ dataDir });
  await createKey(server, server.first.project_id);
  expect(tooOpen(dataDir)).toEqual([]);
  expect(tooOpen(`${dataDir}.secrets`)).toEqual([]);
  await server.stop();
  expect(tooOpen(dataDir)).toEqual([]);
  expect(statSync(dataDir).mode & 0o777).toBe(0o777);

  const copy = freshDir('copy');
  const commands = [
    ['org', 'list'],
    ['store', 'backup', '--out', copy],
  ];
  for (const command of commands) expect(await runWeir(command, server.env)).toMatchObject({ code: 0 });
  expect(tooOpen(dataDir)).toEqual([]);
  expect(tooOpen(copy)).toEqual([]);
});
