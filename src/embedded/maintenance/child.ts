import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { isInUse } from '../lock/lock.ts';
import { checkTrees } from '../store/check/check-file.ts';
import { DATA_FILE, openFiles, openForReading, touch } from '../store/database.ts';
import type { ChildLine } from './report.ts';
import { Scan } from './scan.ts';

// Arguments: `verify`, the folder, and perhaps `--skip-checksums`; `pages` and the folder; or `copy`, the folder and the
// folder to copy it to.
const [task, dir = '', extra = ''] = process.argv.slice(2);
// Written at once and not by way of a stream, since the next read may be the last.
const tell = (line: ChildLine) => writeSync(1, `${JSON.stringify(line)}\n`);

/** The pages are looked at before LMDB follows them, where nobody writes to them meanwhile. */
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
// From the first read on nothing is overwritten that can be reached now.
const hold = () => files.meta?.get(Buffer.from('format'));
if (task === 'copy') {
  await files.root.backup(join(extra, DATA_FILE), true);
  // LMDB leaves a copy with one meta page of use and no transaction on its pages: what checkMeta goes by comes
  // with the next two commits.
  const copy = openFiles(extra, false);
  for (let commits = 0; commits < 2; commits++) await touch(copy);
  await copy.root.close();
} else if (task === 'pages') {
  hold();
  pages();
} else {
  // In one turn, and so in one read transaction, whoever writes meanwhile.
  if (usesChecksums && !stopped) {
    hold();
    pages();
  }
  const report = new Scan({ files, tell: (at, share) => tell({ at, share }), skipChecksums: !usesChecksums }).run();
  tell({ report });
}
process.exit(0);
