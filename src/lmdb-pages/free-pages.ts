import { HEADER, type PageFile } from './page-file.ts';
import type { OnEntry } from './page-tree.ts';

const NUMBER = 8;
const UNUSED = 0xffff;

/**
 * LMDB's free pages. LMDB writes to them, so one that is also in a tree would be lost. A list is a count and its
 * numbers: 0 is an empty place, -n means that the next number is the first of n pages (as in lmdb-js).
 */
export class FreePages {
  private readonly file: PageFile;
  private readonly lists: Buffer[] = [];
  private readonly distant: { readonly page: number; readonly length: number }[] = [];

  constructor(file: PageFile) {
    this.file = file;
  }

  readonly add: OnEntry = (_key, _keyStart, _keyEnd, value, start, length, _flags, overflow) => {
    if (overflow === 0) this.lists.push(Buffer.from(value.subarray(start, start + length)));
    else this.distant.push({ page: overflow, length });
  };

  /** To be called after the walk of all trees. @param isAll whether every tree is sound @throws DamagedFile */
  check(isAll: boolean): void {
    const { file } = this;
    for (const list of this.lists) this.take(list);
    for (const { page, length } of this.distant) {
      this.take(file.read(page * file.pageSize + HEADER, length, 'the list of its free pages'));
    }
    if (isAll && !file.lacksNone(UNUSED)) throw file.damage('its size');
  }

  private take(list: Buffer): void {
    const { owners } = this.file;
    const damage = () => this.file.damage('the list of its free pages');
    const count = list.length < NUMBER ? -1 : Number(list.readBigInt64LE(0));
    if (count < 0 || (count + 1) * NUMBER > list.length) throw damage();
    for (let i = 1; i <= count; i++) {
      let pages = 1;
      let first = Number(list.readBigInt64LE(i * NUMBER));
      if (first === 0) continue;
      if (first < 0) {
        pages = -first;
        i += 1;
        first = i <= count ? Number(list.readBigInt64LE(i * NUMBER)) : 0;
      }
      if (first < 2 || first + pages > owners.length) throw damage();
      for (let page = first; page < first + pages; page++) {
        if (owners[page] !== 0) throw damage();
        owners[page] = UNUSED;
      }
    }
  }
}
