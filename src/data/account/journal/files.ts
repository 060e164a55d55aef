import { constants, existsSync, readdirSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../folder.ts';
import { Tally } from './tally.ts';

/** The store recognises a repeat only at the same place. */
export interface Sent {
  readonly stream: string;
  readonly expected: number | 'no_stream';
}

const asObject = (text: string): object | null => {
  try {
    const told: unknown = JSON.parse(text);
    return typeof told === 'object' ? told : null;
  } catch {
    return null;
  }
};

const isSent = (told: unknown): boolean => {
  const { stream, expected } = (told ?? {}) as Partial<Sent>;
  return typeof stream === 'string' && (expected === 'no_stream' || Number.isSafeInteger(expected));
};

/**
 * By number: `7.open` takes entries or waits, `7.sent` is in the event store but needed by requests in flight,
 * `7.intents` has the places of its batches. `reserve`: zeros for a full disk.
 */
export class JournalFiles {
  readonly dir: string;
  readonly tally: Tally;
  readonly #reserve: string;

  constructor(dir: string) {
    makeFolder(dir);
    this.dir = dir;
    this.tally = new Tally(`${dir}.unsent`);
    this.#reserve = join(dir, 'reserve');
  }

  #path(number: number, kind: 'open' | 'sent' | 'intents'): string {
    return join(this.dir, `${number}.${kind}`);
  }

  list(kind: 'open' | 'sent'): number[] {
    return readdirSync(this.dir)
      .flatMap((name) => (name.endsWith(`.${kind}`) ? [Number(name.slice(0, -kind.length - 1))] : []))
      .sort((a, b) => a - b);
  }

  /** Durable, also its name. */
  async begin(number: number): Promise<FileHandle> {
    const file = await open(this.#path(number, 'open'), 'wx', 0o600);
    try {
      await this.#sync();
      return file;
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
  }

  openReserve(): Promise<FileHandle> {
    return open(this.#reserve, constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** It has entries: renames it to that number. */
  async adoptReserve(number: number): Promise<void> {
    await rename(this.#reserve, this.#path(number, 'open'));
    await this.#sync();
  }

  /** If the last run left entries in it, it becomes the newest file. */
  async adoptLeftReserve(): Promise<void> {
    if (!existsSync(this.#reserve)) return;
    const bytes = await readFile(this.#reserve);
    if (bytes.equals(Buffer.alloc(bytes.length))) return;
    await truncate(this.#reserve, bytes.lastIndexOf('\n') + 1);
    await this.adoptReserve(Math.max(0, ...this.list('open'), ...this.list('sent')) + 1);
  }

  read(number: number, kind: 'open' | 'sent'): Promise<string> {
    return readFile(this.#path(number, kind), 'utf8');
  }

  /** @throws Error naming a damaged file, because the places of its batches are lost */
  async intents(number: number): Promise<Record<string, Sent>> {
    const file = this.#path(number, 'intents');
    if (!existsSync(file)) return {};
    const told = asObject(await readFile(file, 'utf8'));
    if (told === null || !Object.values(told).every(isSent))
      throw new Error(`${file} is damaged. Without it what is in ${number}.open may be charged a second time.`);
    return told as Record<string, Sent>;
  }

  /** Durable when it resolves. */
  async intend(number: number, intents: Readonly<Record<string, Sent>>): Promise<void> {
    const file = this.#path(number, 'intents');
    await writeFile(`${file}.next`, JSON.stringify(intents), { mode: 0o600, flush: true });
    await rename(`${file}.next`, file);
    await this.#sync();
  }

  /** All of it is in the event store. Repeatable after a failure. */
  async sent(number: number): Promise<void> {
    if (!this.isSent(number)) await rename(this.#path(number, 'open'), this.#path(number, 'sent'));
    await this.#sync();
    await this.#forgetIntents(number);
  }

  isSent(number: number): boolean {
    return existsSync(this.#path(number, 'sent'));
  }

  async drop(number: number, kind: 'open' | 'sent'): Promise<void> {
    await this.#forgetIntents(number);
    await rm(this.#path(number, kind), { force: true });
  }

  async #forgetIntents(number: number): Promise<void> {
    const file = this.#path(number, 'intents');
    await rm(file, { force: true });
    await rm(`${file}.next`, { force: true });
  }

  async #sync(): Promise<void> {
    const dir = await open(this.dir, 'r');
    await dir.sync().finally(() => dir.close());
  }
}
