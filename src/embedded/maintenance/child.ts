import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { isInUse } from '../lock/lock.ts';
import { checkTrees } from '../store/check/check-file.ts';
import { DATA_FILE, openFiles, openForReading, touch } from '../store/database.ts';
import type { ChildLine } from './report.ts';
import { Scan } from './scan.ts';

// Arguments: `verify DIR [--skip-checksums]`, `pages DIR` or `copy DIR TARGET`.
const [task, dir = '', extra = ''] = process.argv.slice(2);
// Synchronous, because the next read may kill the process.
const tell = (line: ChildLine) => writeSync(1, `${JSON.stringify(line)}\n`);

const pages = (): void => {
  try {
    checkTrees(join(dir, DATA_FILE));
  } catch (error) {
    tell({ damage: { what: error instanceof Error ? error.message : String(error) } });
  }
};
const usesChecksums = extra !== '--skip-checksums';
const stopped = !(await isInUse(dir));
if (task === 'verify' && usesChecksums && stopped) pages();
const files = openForReading(dir);
// Keeps a read transaction open, so that no page is overwritten meanwhile.
const hold = () => files.meta?.get(Buffer.from('format'));
if (task === 'copy') {
  await files.root.backup(join(extra, DATA_FILE), true);
  // LMDB's copy has one usable meta page without a transaction on its pages; two commits give checkMeta what it needs.
  const copy = openFiles(extra, false);
  for (let commits = 0; commits < 2; commits++) await touch(copy);
  await copy.root.close();
} else if (task === 'pages') {
  hold();
  pages();
} else {
  // In one turn, and so in one read transaction.
  if (usesChecksums && !stopped) {
    hold();
    pages();
  }
  const report = new Scan({ files, tell: (at, share) => tell({ at, share }), skipChecksums: !usesChecksums }).run();
  tell({ report });
}
process.exit(0);
