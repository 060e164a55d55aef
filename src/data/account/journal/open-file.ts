import { ftruncateSync, writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { type Entry, lineOf } from './entry.ts';

const page = Buffer.alloc(4096);

export class OpenFile {
  readonly number: number;
  /** Rewritten elsewhere if the disk fails. */
  readonly entries: Entry[] = [];
  /** Of the reserve, whose size never changes; else null. */
  readonly capacity: number | null;
  readonly #file: FileHandle;
  #bytes = 0;
  /** Whether the file has more than `#bytes`. */
  #isLonger: boolean;

  constructor(number: number, file: FileHandle, capacity: number | null) {
    this.number = number;
    this.#file = file;
    this.capacity = capacity;
    this.#isLonger = capacity !== null;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** All or nothing. @throws the disk's error */
  append(entries: readonly Entry[]): void {
    // ASCII, so one byte a character.
    const text = entries.length === 1 ? lineOf(entries[0]!) : entries.map(lineOf).join('');
    if (this.capacity !== null && this.#bytes + text.length > this.capacity) throw new Error('The reserve is full.');
    try {
      let done = 0;
      while (done < text.length) done += writeSync(this.#file.fd, text.slice(done), this.#bytes + done, 'latin1');
    } catch (error) {
      try {
        if (this.capacity === null) ftruncateSync(this.#file.fd, this.#bytes);
      } catch {
        // The next lines overwrite it, and what is left beyond them goes when the file is closed.
        this.#isLonger = true;
      }
      throw error;
    }
    this.#bytes += text.length;
    // Too many for `push(...)`.
    for (const entry of entries) this.entries.push(entry);
  }

  /** Synchronous with its result. @throws the disk's error */
  probe(): void {
    writeSync(this.#file.fd, page, 0, page.length, this.#bytes);
    ftruncateSync(this.#file.fd, this.#bytes);
  }

  sync(): Promise<void> {
    return this.#file.datasync();
  }

  /** As far as possible. @param failed gets the errors */
  async close(failed: (error: unknown) => void): Promise<void> {
    if (this.#isLonger) await this.#file.truncate(this.#bytes).catch(failed);
    await this.#file.datasync().catch(failed);
    await this.letGo(failed);
  }

  /** Without a flush. */
  async letGo(failed: (error: unknown) => void = () => {}): Promise<void> {
    await this.#file.close().catch(failed);
  }
}
