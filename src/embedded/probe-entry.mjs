// Opens an LMDB file and reads from it, so that a damaged file kills this process and not the server. Arguments: the file,
// and `all` to read every page instead of the ends of each table.
import { open } from 'lmdb';

const [path, extent] = process.argv.slice(2);
const bytes = { encoding: 'binary', keyEncoding: 'binary' };
const root = open({ path, noSubdir: true, overlappingSync: false, maxDbs: 8, readOnly: true, ...bytes });
for (const name of ['meta', 'sn', 'sx', 'ev']) {
  const table = root.openDB({ name, ...bytes });
  if (table === undefined) continue;
  const limit = extent === 'all' ? Number.POSITIVE_INFINITY : 1000;
  let count = 0;
  for (const { value } of table.getRange({ reverse: true })) {
    // Touch every page of the value.
    for (let at = 0; at < value.length; at += 4096) count += value[at] >= 0 ? 0 : 1;
    if (++count >= limit) break;
  }
}
process.exit(0);
