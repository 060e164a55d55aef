import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { startHalfFull } from '../window/half-full.ts';
import type { WindowStore } from '../window/window-store.ts';
import { type Restored, restore } from './restore.ts';
import { markChanged, opening, snapshot } from './snapshot.ts';

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
/** Slots whose records go into a new file at each saving, beside those that have changed: some 10 ms of work. */
const copiedAtOnce = 10_000;

/**
 * Keeps the windows of a family in files (reliability.md 5, row Restart). A file is chunks of attempts and changed records,
 * one after the other. When it has become long another one begins, into which all records go little by little, and when they are
 * there the older files go: so at any moment what is there, read in the order of the numbers, is everything.
 */
export class SnapshotFiles {
  readonly #options: SnapshotFilesOptions;
  #number: number;
  #file: FileHandle | null = null;
  #older: string[];
  /** The next slot to be copied into the present file; -1 when all are there. */
  #copied = 0;
  #bytes = 0;
  /** Length of the present file when it had everything. */
  #whole = 0;

  private constructor(options: SnapshotFilesOptions, older: string[], number: number) {
    this.#options = options;
    this.#older = older;
    this.#number = number;
  }

  /** Puts back what the files of the last run say; null where there were none and none was missing. */
  static async open(options: SnapshotFilesOptions): Promise<{ files: SnapshotFiles; restored: Restored | null }> {
    const { dir, family, store, clock, fresh } = options;
    await mkdir(dir, { recursive: true });
    const numbers = (await readdir(dir))
      .map((name) => new RegExp(`^${family}-(\\d+)\\.windows$`).exec(name))
      .flatMap((found) => (found === null ? [] : [Number(found[1])]))
      .sort((a, b) => a - b);
    const older = numbers.map((number) => pathOf(options, number));
    const files = new SnapshotFiles(options, older, (numbers.at(-1) ?? 0) + 1);
    if (numbers.length > 0) {
      const buffers = await Promise.all(older.map((file) => readFile(file)));
      return { files, restored: restore(store, buffers, clock.wall(), clock.monotonic()) };
    }
    if (fresh) return { files, restored: null };
    startHalfFull(store, clock.monotonic());
    return { files, restored: { records: 0, refused: [], cautious: true } };
  }

  /**
   * Writes what has changed since the last time, and has it reach the disk. What comes meanwhile is written next time.
   * @throws the error of the file system; a later call begins a new file, with everything in it
   */
  async save(): Promise<void> {
    const { store, clock } = this.#options;
    try {
      if (this.#copied >= 0) this.#copied = markChanged(store, this.#copied, copiedAtOnce);
      let waiting = store.changes.length;
      if (waiting > 0 || store.journal.length > 0 || this.#file === null) {
        const file = this.#file ?? (await this.#begin());
        do {
          const before = store.changes.length;
          const chunk = snapshot(store, clock.wall(), clock.monotonic());
          waiting -= before - store.changes.length;
          if (chunk === null) break;
          await this.#write(file, chunk);
        } while (waiting > 0);
        await file.datasync();
      }
      if (this.#copied < 0) await this.#finish();
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
    this.#copied = 0;
    this.#bytes = 0;
    this.#whole = 0;
    await file?.close().catch(() => {});
  }
}

const pathOf = ({ dir, family }: SnapshotFilesOptions, number: number): string =>
  join(dir, `${family}-${number}.windows`);
