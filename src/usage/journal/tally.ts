import { closeSync, constants, fdatasync, openSync, readFileSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { isSound, sealed } from './entry.ts';

const syncToDisk = promisify(fdatasync);
/** Of any count that there can be: a line is written over in its place. */
const digits = 16;

/**
 * How many requests have begun whose accounts are not in the event store: the journal has to tell of so many. It stands
 * beside the journal's folder, so that what is missing is known where that is damaged or gone.
 */
export class Tally {
  readonly #path: string;
  #fd: number | null = null;
  #written = -1;

  constructor(path: string) {
    this.#path = path;
  }

  /** @returns undefined where there is none yet; null where it is not what was written */
  read(): number | null | undefined {
    try {
      const line = readFileSync(this.#path, 'latin1').trimEnd();
      return isSound(line) ? Number(line.slice(9)) : null;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null;
    }
  }

  /** What the disk does not take is told with the next one. */
  write(count: number): void {
    if (count === this.#written) return;
    try {
      this.#fd ??= openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
      writeSync(this.#fd, sealed(String(count).padStart(digits, '0')), 0, 'latin1');
      this.#written = count;
    } catch {
      // That the disk takes nothing is noticed by the journal.
    }
  }

  /** Has it reach the disk, as far as it can be written. */
  async sync(): Promise<void> {
    if (this.#fd !== null) await syncToDisk(this.#fd).catch(() => {});
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}
