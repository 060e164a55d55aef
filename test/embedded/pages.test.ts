import { jsonEvent } from '@eventstore/db-client';
import { expect, test } from 'vitest';
import { openFiles } from '../../src/embedded/store/database.ts';
import { openStore } from './store-under-test.ts';

test('a page of the log is full before the next begins', async () => {
  const { client, dir, close } = await openStore();
  const events = 1_600;
  // Eight such records fit into a page of 4 KiB and nine do not; without MDB_APPEND LMDB leaves seven in each.
  const data = { text: 'e'.repeat(257) };
  for (let n = 0; n < events; n += 40)
    await client.appendToStream(
      'pages-1',
      Array.from({ length: 40 }, () => jsonEvent({ type: 'filling', data })),
    );
  await close();
  const files = openFiles(dir, false);
  const { entryCount, treeLeafPageCount } = files.ev.getStats() as { entryCount: number; treeLeafPageCount: number };
  await files.root.close();
  expect(entryCount).toBe(events);
  expect(treeLeafPageCount).toBeLessThanOrEqual(events / 8 + 1);
});
