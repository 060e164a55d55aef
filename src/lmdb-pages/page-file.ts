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
/** Most tables are not in key order in the file, so that reading more pages ahead costs time. */
const CHUNK_PAGES = 4;
/** Free pages that may be missing at the end of a file. */
const MOST_LACKING = 2 ** 20;

/** Reads pages and records the owner of each. No one writes to them meanwhile. */
export class PageFile {
  readonly path: string;
  readonly pageSize: number;
  readonly meta: Buffer;
  /** The last page that was read, and some after it. */
  readonly chunk: Buffer;
  /** By page; 0 without an owner. */
  readonly owners: Uint16Array;
  private readonly descriptor: number;
  private readonly pages: number;
  private readonly transaction: bigint;
  private chunkStart = -1;
  private chunkPages = 0;

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

  /** Reads and checks a page and gives it to `owner`. @returns its offset in `chunk` */
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
    // LMDB takes a page of a later transaction for one of its own uncommitted ones.
    if (chunk.readBigUInt64LE(start + WRITTEN_BY) > this.transaction) throw damage();
    if (chunk.readUInt16LE(start + FLAGS) !== kind) throw damage();
    return start;
  }

  /** Offset of a page in `chunk`, which must have it. */
  placeOf(number: number): number {
    return (number - this.chunkStart) * this.pageSize;
  }

  /** @returns the number of pages, which exceeds `needed` if LMDB has reused those of a larger value */
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

  /** Releases the pages of a damaged tree. */
  disown(owner: number): void {
    for (let page = 0; page < this.owners.length; page++) if (this.owners[page] === owner) this.owners[page] = 0;
  }

  /** Whether all pages beyond the end of the file have this owner. */
  lacksNone(but: number): boolean {
    for (let page = this.pages; page < this.owners.length; page++) if (this.owners[page] !== but) return false;
    return true;
  }

  /** @throws DamagedFile if the file ends before */
  read(at: number, length: number, of: string): Buffer {
    const bytes = Buffer.alloc(length);
    if (readSync(this.descriptor, bytes, 0, length, at) !== length) throw this.damage(of);
    return bytes;
  }

  damage(what: string): DamagedFile {
    return new DamagedFile(`${this.path} is damaged: ${what} cannot be right.`);
  }
}
