/** What shims/write-log.c has recorded. */

const HEAD = 32;

export interface Write {
  readonly offset: number;
  readonly bytes: Buffer;
  /** On the disk when it returns, whatever became of the writes before it. */
  readonly through: boolean;
}

export type Entry =
  | ({ readonly is: 'write' } & Write)
  | { readonly is: 'sync' }
  | { readonly is: 'truncate'; readonly size: number }
  | { readonly is: 'mark'; readonly text: string };

/** The entries of a log, in the order in which they happened. */
export function* entries(log: Buffer): Generator<Entry> {
  for (let at = 0; at < log.length; ) {
    const [kind, flags, offset, length] = [0, 8, 16, 24].map((field) => Number(log.readBigUInt64LE(at + field)));
    const bytes = log.subarray(at + HEAD, at + HEAD + length!);
    at += HEAD + length!;
    if (kind === 1) yield { is: 'write', offset: offset!, bytes, through: flags === 1 };
    else if (kind === 2) yield { is: 'sync' };
    else if (kind === 3) yield { is: 'truncate', size: offset! };
    else yield { is: 'mark', text: bytes.toString('utf8') };
  }
}

/** The file as the disk may have it: what is certain, and some of what is not. */
export function image(certain: Buffer, some: readonly Write[]): Buffer {
  const size = Math.max(certain.length, ...some.map(({ offset, bytes }) => offset + bytes.length));
  const file = Buffer.alloc(size);
  certain.copy(file);
  for (const { offset, bytes } of some) bytes.copy(file, offset);
  return file;
}
