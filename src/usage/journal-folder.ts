import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { JournalFiles } from './journal/files.ts';
import type { UsageOptions } from './usage.ts';

const hasFiles = (dir: string): boolean =>
  existsSync(dir) && readdirSync(dir, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());

/**
 * The folder of the journal of a log, which is made where it is not there.
 * @param root of the journals of all logs
 * @param hasServed what only a gateway leaves that has been here before; to be called before this one leaves it
 */
export const journalFolder = (
  root: string,
  logId: string,
  hasServed: boolean,
): Required<Pick<UsageOptions, 'dir' | 'isGone'>> => {
  const isFirst = !hasFiles(root);
  const dir = join(root, logId);
  const { tally } = new JournalFiles(dir);
  // Should this start be broken off, the next one is not the first.
  if (isFirst) tally.write(0);
  tally.close();
  return { dir, isGone: isFirst && hasServed };
};
