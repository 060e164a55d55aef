import { writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { JournalFiles } from './files.ts';

const mebibyte = 1024 * 1024;
/** No line is longer that settles a request: ids of 31 characters, a model of 200, a service tier of 32, and numbers. */
export const longestLine = 1_024;
const leastSize = 4 * mebibyte;

const sizeFor = (requests: number): number =>
  Math.max(leastSize, Math.ceil((requests * longestLine) / mebibyte) * mebibyte);

/**
 * A file of zeros that has its blocks: on a full disk the lines that settle the requests in flight are written over them.
 * It has room for 4,096 of them, and becomes larger with the requests that are in flight at once.
 */
export class Reserve {
  readonly #files: JournalFiles;
  #file: FileHandle | null = null;
  #size = 0;

  constructor(files: JournalFiles) {
    this.#files = files;
  }

  /** Bytes that have to be free before it is there. */
  lacks(requests: number): number {
    return this.#file === null ? sizeFor(requests) : 0;
  }

  /** Makes it, where it is not there. */
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
      // Nobody else is to lack what was too little for it.
      await file.truncate(0).catch(() => {});
      await file.close().catch(() => {});
      throw error;
    }
  }

  /** Whether it has room for the lines of so many requests; it becomes larger where it has not. */
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

  /** Hands it over: there is none until it is laid again. */
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
