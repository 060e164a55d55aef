import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openStore } from './store-under-test.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = fileURLToPath(new URL('../../../shared/eventstore-cases/', import.meta.url));
const present = existsSync(`${folder}run.mjs`);
if (!present) process.stderr.write(`SKIPPED: the recorded answers of a real node are not in ${folder}\n`);

test.skipIf(!present)('answers every recorded question as a real node did', { timeout: 60_000 }, async () => {
  const store = await openStore();
  // Asynchronously, since the store runs on this very thread.
  const child = spawn(process.execPath, [`${folder}run.mjs`, store.endpoint, '--against', `${folder}real-node.json`], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await new Promise((resolve) => child.once('close', resolve));
  expect(printed).toMatch(/^112 passed, 0 failed$/m);
});
