import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { journalFolder } from '../../src/usage/journal-folder.ts';

const root = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-journals-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return join(dir, 'usage');
};

test('a gateway that has never served has lost no journal, also when its first start is broken off', () => {
  const journals = root();
  expect(journalFolder(journals, 'log', false)).toEqual({ dir: join(journals, 'log'), isGone: false });
  expect(existsSync(join(journals, 'log'))).toBe(true);
  expect(journalFolder(journals, 'log', true).isGone).toBe(false);
});

test('one that has served has lost its journal where there is none of any log, and is at another log where there is', () => {
  const journals = root();
  expect(journalFolder(journals, 'log', true).isGone).toBe(true);
  expect(journalFolder(journals, 'log', true).isGone).toBe(false);
  expect(journalFolder(journals, 'other', true).isGone).toBe(false);
  rmSync(join(journals, 'log.unsent'));
  // Folders without a file.
  expect(journalFolder(journals, 'other', true).isGone).toBe(true);
});
