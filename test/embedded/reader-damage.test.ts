import { expect, test } from 'vitest';
import type { LogFiles } from '../../src/embedded/store/database.ts';
import { Reader } from '../../src/embedded/store/read/reader.ts';
import { positionKey } from '../../src/embedded/store/records/keys.ts';

test('who comes upon a key that cannot be found again is told, and does not look for what is behind it for ever', () => {
  const position = 5;
  let record: Buffer | undefined;
  const files = {
    root: { resetReadTxn: () => {} },
    ev: { getKeys: () => [positionKey(position)], getBinaryFast: () => record },
    gaps: { getKeys: () => [] },
  };
  const reader = new Reader(files as unknown as LogFiles, { skipChecksums: true }, 100);
  expect(() => reader.next(position)).toThrow('The record at position 5 is missing.');
  // A key that a commit has just brought is found by whoever looks again.
  record = Buffer.alloc(20);
  expect(reader.next(position)).toBe(position);
});
