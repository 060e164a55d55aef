import { closeSync, constants, fdatasync, openSync, readFileSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { isSound, sealed } from './entry.ts';

const syncToDisk = promisify(fdatasync);
/** Fixed width, so that it can be overwritten in place. */
const digits = 16;

/** The number of begun requests that are not in the event store; a file of its own, so that a lost journal is noticed. */
export class Tally {
  readonly #path: string;
  #fd: number | null = null;
  #written = -1;

  constructor(path: string) {
    this.#path = path;
  }

  /** Undefined if absent; null if damaged. */
  read(): number | null | undefined {
    try {
      const line = readFileSync(this.#path, 'latin1').trimEnd();
      return isSound(line) ? Number(line.slice(9)) : null;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null;
    }
  }

  /** After a failure the next write has the newest count. */
  write(count: number): void {
    if (count === this.#written) return;
    try {
      this.#fd ??= openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
      writeSync(this.#fd, sealed(String(count).padStart(digits, '0')), 0, 'latin1');
      this.#written = count;
    } catch {
      // The journal notices disk failures.
    }
  }

  async sync(): Promise<void> {
    if (this.#fd !== null) await syncToDisk(this.#fd).catch(() => {});
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}
