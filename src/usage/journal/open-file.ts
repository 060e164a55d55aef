import { ftruncateSync, writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { type Entry, lineOf } from './entry.ts';

const page = Buffer.alloc(4096);

/** A file of a journal that takes what comes. */
export class OpenFile {
  readonly number: number;
  /** What it holds: should the disk fail, the file is given up and all of it is written anew. */
  readonly entries: Entry[] = [];
  /** Bytes that there is room for, where it is the reserve, which is made neither longer nor shorter; else null. */
  readonly capacity: number | null;
  readonly #file: FileHandle;
  #bytes = 0;

  constructor(number: number, file: FileHandle, capacity: number | null) {
    this.number = number;
    this.#file = file;
    this.capacity = capacity;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** All or nothing. @throws what the disk says, where it takes nothing */
  append(entries: readonly Entry[]): void {
    // Ids, names of models and numbers: a byte each character.
    const text = entries.length === 1 ? lineOf(entries[0]!) : entries.map(lineOf).join('');
    if (this.capacity !== null && this.#bytes + text.length > this.capacity) throw new Error('The reserve is full.');
    try {
      let done = 0;
      while (done < text.length) done += writeSync(this.#file.fd, text.slice(done), this.#bytes + done, 'latin1');
    } catch (error) {
      try {
        if (this.capacity === null) ftruncateSync(this.#file.fd, this.#bytes);
      } catch {
        // A line that was written in part is overwritten by the next, which begins where it does.
      }
      throw error;
    }
    this.#bytes += text.length;
    // As many as there may be at once are too many arguments.
    for (const entry of entries) this.entries.push(entry);
  }

  /** Whether it takes more: in one step with what comes of it. @throws what the disk says, where it does not */
  probe(): void {
    writeSync(this.#file.fd, page, 0, page.length, this.#bytes);
    ftruncateSync(this.#file.fd, this.#bytes);
  }

  sync(): Promise<void> {
    return this.#file.datasync();
  }

  /** As far as it goes. @param failed told what does not */
  async close(failed: (error: unknown) => void): Promise<void> {
    if (this.capacity !== null) await this.#file.truncate(this.#bytes).catch(failed);
    await this.#file.datasync().catch(failed);
    await this.letGo(failed);
  }

  /** Closes it as it is. */
  async letGo(failed: (error: unknown) => void = () => {}): Promise<void> {
    await this.#file.close().catch(failed);
  }
}
