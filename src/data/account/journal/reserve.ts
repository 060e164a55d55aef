import { writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { JournalFiles } from './files.ts';

const mebibyte = 1024 * 1024;
/** The maximum of a settlement: ids of 31 characters, a model and its alias of 200 each, a service tier of 32, and numbers. */
export const longestLine = 1_024;
const leastSize = 4 * mebibyte;

const sizeFor = (requests: number): number =>
  Math.max(leastSize, Math.ceil((requests * longestLine) / mebibyte) * mebibyte);

/** Preallocated zeros, overwritten by the settlements of requests in flight on a full disk. */
export class Reserve {
  readonly #files: JournalFiles;
  #file: FileHandle | null = null;
  #size = 0;

  constructor(files: JournalFiles) {
    this.#files = files;
  }

  /** Bytes that must be free to create it. */
  lacks(requests: number): number {
    return this.#file === null ? sizeFor(requests) : 0;
  }

  async lay(requests: number): Promise<void> {
    if (this.#file !== null) return;
    const file = await this.#files.openReserve();
    try {
      const { size, blocks } = await file.stat();
      const isLaid = size >= sizeFor(requests) && blocks * 512 >= size;
      this.#size = isLaid ? size : sizeFor(requests);
      if (!isLaid) {
        await file.writeFile(Buffer.alloc(this.#size));
        await file.datasync();
      }
      this.#file = file;
    } catch (error) {
      // Frees a file that is too small.
      await file.truncate(0).catch(() => {});
      await file.close().catch(() => {});
      throw error;
    }
  }

  /** Grows if needed. */
  holds(requests: number): boolean {
    if (this.#file === null) return false;
    try {
      while (this.#size < requests * longestLine) {
        const zeros = Buffer.alloc(mebibyte);
        for (let done = 0; done < mebibyte; ) {
          done += writeSync(this.#file.fd, zeros, done, mebibyte - done, this.#size + done);
        }
        this.#size += mebibyte;
      }
      return true;
    } catch {
      return false;
    }
  }

  /** Hands it over; `lay` makes another. */
  take(): { readonly file: FileHandle; readonly size: number } | null {
    const file = this.#file;
    this.#file = null;
    return file && { file, size: this.#size };
  }

  async close(): Promise<void> {
    await this.#file?.close().catch(() => {});
    this.#file = null;
  }
}
