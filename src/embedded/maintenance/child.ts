import { writeSync } from 'node:fs';
import { openForReading } from '../store/database.ts';
import type { ChildLine } from './report.ts';
import { Scan } from './scan.ts';

// Arguments: `verify`, the folder, and perhaps `--skip-checksums`; or `copy`, the folder and the file to write.
const [task, dir = '', extra = ''] = process.argv.slice(2);
// Written at once and not by way of a stream, since the next read may be the last.
const tell = (line: ChildLine) => writeSync(1, `${JSON.stringify(line)}\n`);

const files = openForReading(dir);
if (task === 'copy') {
  await files.root.backup(extra, true);
} else {
  // In one turn, and so in one read transaction, whoever writes meanwhile.
  const report = new Scan({
    files,
    tell: (at, share) => tell({ at, share }),
    skipChecksums: extra === '--skip-checksums',
  }).run();
  tell({ report });
}
process.exit(0);
