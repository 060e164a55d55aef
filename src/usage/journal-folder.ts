import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { JournalFiles } from '../data/account/journal/files.ts';
import type { UsageOptions } from './usage.ts';

const hasFiles = (dir: string): boolean =>
  existsSync(dir) && readdirSync(dir, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());

/** @param hasServed whether an earlier run left its mark; call before this run leaves it */
export const journalFolder = (
  root: string,
  logId: string,
  hasServed: boolean,
): Required<Pick<UsageOptions, 'dir' | 'isGone'>> => {
  const isFirst = !hasFiles(root);
  const dir = join(root, logId);
  const { tally } = new JournalFiles(dir);
  // After an aborted start the next one is not the first.
  if (isFirst) tally.write(0);
  tally.close();
  return { dir, isGone: isFirst && hasServed };
};
