import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { WindowRecord } from '../record/record.ts';
import { startHalfFull } from '../window/half-full.ts';
import type { WindowStore } from '../window/window-store.ts';
import { type Restored, restore } from './restore.ts';
import { opening, snapshot } from './snapshot.ts';

export interface SnapshotFilesOptions {
  /** Created if missing. */
  readonly dir: string;
  /** Prefix of the names of the files. */
  readonly family: string;
  readonly store: WindowStore;
  readonly clock: Clock;
  /** Nothing can have been counted before, so missing files are no loss. */
  readonly fresh: boolean;
  /** Length after which a new file begins: default 8 MiB, and twice a complete snapshot. */
  readonly longestBytes?: number;
}

const longest = 8 * 1024 * 1024;
/** Records copied into a new file at each save, which takes some 10 ms. */
const copiedAtOnce = 10_000;

/**
 * Keeps a family's windows in files of chunks. When a file is long a new one begins, all records are copied into it in small
 * steps, and then the older files are removed; so the files, read in order, are always complete.
 */
export class SnapshotFiles {
  readonly #options: SnapshotFilesOptions;
  #number: number;
  #file: FileHandle | null = null;
  #older: string[];
  /** Records still to be copied into the present file; null when it is complete. */
  #uncopied: Iterator<WindowRecord> | null;
  #bytes = 0;
  /** Length of the present file when it became complete. */
  #whole = 0;

  private constructor(options: SnapshotFilesOptions, older: string[], number: number) {
    this.#options = options;
    this.#older = older;
    this.#number = number;
    this.#uncopied = options.store.all();
  }

  /** Restores from the files without changing them; null where there are none. */
  static async look(options: Omit<SnapshotFilesOptions, 'fresh'>): Promise<Restored | null> {
    const numbers = await numbersOf(options);
    if (numbers.length === 0) return null;
    const buffers = await Promise.all(numbers.map((number) => readFile(pathOf(options, number))));
    return restore(options.store, buffers, options.clock.wall(), options.clock.monotonic());
  }

  /** Restores from the files of the last run; `restored` is null where there were none and none was missing. */
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

  /** Writes all changes and syncs them to disk. @throws file system errors; the next call then begins a new, complete file */
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
      // The file may end within a chunk, and the changes of that chunk are lost.
      await this.#next();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.save();
    await this.#file?.close();
    this.#file = null;
  }

  /** Marks the next records for copying into the new file. */
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

  /** Runs when the present file is complete. */
  async #finish(): Promise<void> {
    for (const file of this.#older) await rm(file, { force: true });
    if (this.#whole === 0) this.#whole = this.#bytes;
    this.#older = [];
    if (this.#bytes > Math.max(this.#options.longestBytes ?? longest, 2 * this.#whole)) await this.#next();
  }

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

const numbersOf = async ({ dir, family }: Pick<SnapshotFilesOptions, 'dir' | 'family'>): Promise<number[]> =>
  (await readdir(dir))
    .map((name) => new RegExp(`^${family}-(\\d+)\\.windows$`).exec(name))
    .flatMap((found) => (found === null ? [] : [Number(found[1])]))
    .sort((a, b) => a - b);

const pathOf = ({ dir, family }: Pick<SnapshotFilesOptions, 'dir' | 'family'>, number: number): string =>
  join(dir, `${family}-${number}.windows`);
