/** What the disk and LMDB allow: puts with fsync before each is answered, without any store or client around them. */
import { open } from 'lmdb';
import { Lanes } from '../gen/lanes.ts';
import { sampleWindow, type WindowOptions } from '../gen/sample.ts';
import { serveParent } from '../machine/parent.ts';

export interface PutOrder extends Omit<WindowOptions, 'pid'> {
  readonly file: string;
  readonly inFlight: number;
  readonly valueBytes: number;
}

const openFile = (path: string) =>
  // No overlapping sync, as in the embedded store: a put is answered after its commit is on disk.
  open<Buffer, Buffer>({ path, noSubdir: true, overlappingSync: false, encoding: 'binary', keyEncoding: 'binary' });

let database: ReturnType<typeof openFile> | undefined;
let last = 0n;

serveParent((question) => {
  const { file, inFlight, valueBytes, ...window } = question as PutOrder;
  database ??= openFile(file);
  const put = (): Promise<boolean> => {
    const key = Buffer.allocUnsafe(8);
    key.writeBigUInt64BE(++last);
    return database!.put(key, Buffer.alloc(valueBytes, 'e'));
  };
  return sampleWindow({ ...window, pid: process.pid }, new Lanes(inFlight, put));
});
