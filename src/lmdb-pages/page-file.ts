import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { DamagedFile } from './damaged-file.ts';
import { type CheckedFile, LAST_PAGE, META_BYTES, PAGE_SIZE, TRANSACTION } from './meta-pages.ts';

// A page:   number u64 | transaction u64 | pad u16 | flags u16 | lower u16, upper u16 (or pages u32) | offsets u16 …
export const HEADER = 24;
const WRITTEN_BY = 8;
const FLAGS = 18;
export const LOWER = 20;
export const UPPER = 22;
export const BRANCH = 1;
export const LEAF = 2;
const OVERFLOW = 4;
/** Pages read at a time: more only pay where a table lies in the file in the order of its keys, and few do for long. */
const CHUNK_PAGES = 4;
/** Pages that a file may lack at its end, since they are free: more is no file that LMDB has left. */
const MOST_LACKING = 2 ** 20;

/** The pages of a file as they lie there, and whose each is. Nobody writes to it meanwhile, but behind a reader of ours. */
export class PageFile {
  readonly path: string;
  readonly pageSize: number;
  /** By which the file is opened. */
  readonly meta: Buffer;
  /** The page that was asked for last, and some behind it. */
  readonly chunk: Buffer;
  /** By page: 0 where nobody has named it. */
  readonly owners: Uint16Array;
  private readonly descriptor: number;
  private readonly pages: number;
  private readonly transaction: bigint;
  private chunkStart = -1;
  private chunkPages = 0;

  /** @param checked what `checkMetaPages` has found; there is a meta page */
  constructor(path: string, { place = 0 }: CheckedFile) {
    this.path = path;
    this.descriptor = openSync(path, 'r');
    try {
      this.meta = this.read(place, META_BYTES, 'its meta pages');
      this.pageSize = this.meta.readUInt32LE(PAGE_SIZE);
      this.transaction = this.meta.readBigUInt64LE(TRANSACTION);
      const all = Number(this.meta.readBigUInt64LE(LAST_PAGE)) + 1;
      this.pages = Math.min(all, Math.ceil(fstatSync(this.descriptor).size / this.pageSize));
      if (all > this.pages + MOST_LACKING) throw this.damage('its size');
      this.owners = new Uint16Array(all);
      this.chunk = Buffer.allocUnsafe(this.pageSize * CHUNK_PAGES);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    closeSync(this.descriptor);
  }

  /** Has the page in the chunk, as the one it is said to be, and gives it to `owner`; returns where it begins. */
  page(number: number, kind: number, owner: number, of: string): number {
    const { chunk, pageSize } = this;
    const damage = () => this.damage(`page ${number} of ${of}`);
    if (!(number >= 2 && number < this.pages) || this.owners[number] !== 0) throw damage();
    this.owners[number] = owner;
    if (number < this.chunkStart || number >= this.chunkStart + this.chunkPages || this.chunkStart < 0) {
      this.chunkStart = number;
      const read = readSync(this.descriptor, chunk, 0, chunk.length, number * pageSize);
      this.chunkPages = Math.floor(read / pageSize);
      if (this.chunkPages === 0) throw damage();
    }
    const start = (number - this.chunkStart) * pageSize;
    if (chunk.readBigUInt64LE(start) !== BigInt(number)) throw damage();
    // LMDB takes a page of a later transaction for one that it is writing itself.
    if (chunk.readBigUInt64LE(start + WRITTEN_BY) > this.transaction) throw damage();
    if (chunk.readUInt16LE(start + FLAGS) !== kind) throw damage();
    return start;
  }

  /** Where a page is in the chunk that was the last to be asked for. */
  placeOf(number: number): number {
    return (number - this.chunkStart) * this.pageSize;
  }

  /** How many pages hold data that needs so many: more where LMDB has put less into those of what was there before. */
  overflow(first: number, needed: number, owner: number, of: string): number {
    const start = this.page(first, OVERFLOW, owner, of);
    const pages = this.chunk.readUInt32LE(start + LOWER);
    if (pages < needed || first + pages > this.pages) throw this.damage(`page ${first} of ${of}`);
    for (let page = first + 1; page < first + pages; page++) {
      if (this.owners[page] !== 0) throw this.damage(`page ${page} of ${of}`);
      this.owners[page] = owner;
    }
    return pages;
  }

  /** Takes every page from an owner whose tree has turned out to be none. */
  disown(owner: number): void {
    for (let page = 0; page < this.owners.length; page++) if (this.owners[page] === owner) this.owners[page] = 0;
  }

  /** Whether the file is whole but for pages of this owner. */
  lacksNone(but: number): boolean {
    for (let page = this.pages; page < this.owners.length; page++) if (this.owners[page] !== but) return false;
    return true;
  }

  /** Bytes at any place. @throws DamagedFile where they are not all there */
  read(at: number, length: number, of: string): Buffer {
    const bytes = Buffer.alloc(length);
    if (readSync(this.descriptor, bytes, 0, length, at) !== length) throw this.damage(of);
    return bytes;
  }

  damage(what: string): DamagedFile {
    return new DamagedFile(`${this.path} is damaged: ${what} cannot be right.`);
  }
}
