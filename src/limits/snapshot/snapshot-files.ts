import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { WindowRecord } from '../record/record.ts';
import { startHalfFull } from '../window/half-full.ts';
import type { WindowStore } from '../window/window-store.ts';
import { type Restored, restore } from './restore.ts';
import { opening, snapshot } from './snapshot.ts';

export interface SnapshotFilesOptions {
  /** Folder of the files; made when it is not there. */
  readonly dir: string;
  /** What the files are called by: one family's windows. */
  readonly family: string;
  readonly store: WindowStore;
  readonly clock: Clock;
  /** Whether nothing can have been counted before: then no files are no loss. */
  readonly fresh: boolean;
  /** A new file begins when the present one is longer; default 8 MiB, and twice what a whole snapshot takes. */
  readonly longestBytes?: number;
}

const longest = 8 * 1024 * 1024;
/** Records that go into a new file at each saving, beside those that have changed: some 10 ms of work. */
const copiedAtOnce = 10_000;

/**
 * Keeps the windows of a family in files. A file is chunks of attempts and changed records,
 * one after the other. When it has become long another one begins, into which all records go little by little, and when they are
 * there the older files go: so at any moment what is there, read in the order of the numbers, is everything.
 */
export class SnapshotFiles {
  readonly #options: SnapshotFilesOptions;
  #number: number;
  #file: FileHandle | null = null;
  #older: string[];
  /** The records that have yet to be copied into the present file; null when all are there. */
  #uncopied: Iterator<WindowRecord> | null;
  #bytes = 0;
  /** Length of the present file when it had everything. */
  #whole = 0;

  private constructor(options: SnapshotFilesOptions, older: string[], number: number) {
    this.#options = options;
    this.#older = older;
    this.#number = number;
    this.#uncopied = options.store.all();
  }

  /** Puts back what files say, and leaves them as they are; null where there are none. */
  static async look(options: Omit<SnapshotFilesOptions, 'fresh'>): Promise<Restored | null> {
    const numbers = await numbersOf(options);
    if (numbers.length === 0) return null;
    const buffers = await Promise.all(numbers.map((number) => readFile(pathOf(options, number))));
    return restore(options.store, buffers, options.clock.wall(), options.clock.monotonic());
  }

  /** Puts back what the files of the last run say; null where there were none and none was missing. */
  static async open(options: SnapshotFilesOptions): Promise<{ files: SnapshotFiles; restored: Restored | null }> {
    const { dir, store, clock, fresh } = options;
    await mkdir(dir, { recursive: true });
    const numbers = await numbersOf(options);
    const older = numbers.map((number) => pathOf(options, number));
    const files = new SnapshotFiles(options, older, (numbers.at(-1) ?? 0) + 1);
    const restored = await SnapshotFiles.look(options);
    if (restored !== null) return { files, restored };
    if (fresh) return { files, restored: null };
    startHalfFull(store, clock.monotonic());
    return { files, restored: { records: 0, refused: [], halfFull: true } };
  }

  /**
   * Writes what has changed since the last time, and has it reach the disk. What comes meanwhile is written next time.
   * @throws the error of the file system; a later call begins a new file, with everything in it
   */
  async save(): Promise<void> {
    const { store, clock } = this.#options;
    try {
      this.#copySome();
      let waiting = store.unsaved.size;
      if (waiting > 0 || store.journal.length > 0 || this.#file === null) {
        const file = this.#file ?? (await this.#begin());
        do {
          const before = store.unsaved.size;
          const chunk = snapshot(store, clock.wall(), clock.monotonic());
          waiting -= before - store.unsaved.size;
          if (chunk === null) break;
          await this.#write(file, chunk);
        } while (waiting > 0);
        await file.datasync();
      }
      if (this.#uncopied === null) await this.#finish();
    } catch (error) {
      // It may end in the middle of a chunk, and what has been taken for it is nowhere.
      await this.#next();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.save();
    await this.#file?.close();
    this.#file = null;
  }

  /** Has some more of the records on the next chunks, for a new file that is to need no older one. */
  #copySome(): void {
    for (let left = copiedAtOnce; left > 0 && this.#uncopied !== null; left--) {
      const { value: record, done } = this.#uncopied.next();
      if (done) this.#uncopied = null;
      else this.#options.store.changed(record);
    }
  }

  async #begin(): Promise<FileHandle> {
    const { store, clock } = this.#options;
    const file = await open(pathOf(this.#options, this.#number), 'wx', 0o600);
    this.#file = file;
    await this.#write(file, opening(store, clock.wall(), clock.monotonic()));
    return file;
  }

  async #write(file: FileHandle, chunk: Uint8Array): Promise<void> {
    await file.appendFile(chunk);
    this.#bytes += chunk.length;
  }

  /** Everything is in the present file. */
  async #finish(): Promise<void> {
    for (const file of this.#older) await rm(file, { force: true });
    if (this.#whole === 0) this.#whole = this.#bytes;
    this.#older = [];
    if (this.#bytes > Math.max(this.#options.longestBytes ?? longest, 2 * this.#whole)) await this.#next();
  }

  /** Begins the next file. */
  async #next(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    if (file !== null) this.#older.push(pathOf(this.#options, this.#number));
    this.#number += 1;
    this.#uncopied = this.#options.store.all();
    this.#bytes = 0;
    this.#whole = 0;
    await file?.close().catch(() => {});
  }
}

/** The numbers of a family's files, in their order. */
const numbersOf = async ({ dir, family }: Pick<SnapshotFilesOptions, 'dir' | 'family'>): Promise<number[]> =>
  (await readdir(dir))
    .map((name) => new RegExp(`^${family}-(\\d+)\\.windows$`).exec(name))
    .flatMap((found) => (found === null ? [] : [Number(found[1])]))
    .sort((a, b) => a - b);

const pathOf = ({ dir, family }: Pick<SnapshotFilesOptions, 'dir' | 'family'>, number: number): string =>
  join(dir, `${family}-${number}.windows`);
