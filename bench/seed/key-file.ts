import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { fileFault } from '../../src/folder.ts';
import type { SeededKey } from './organization.ts';

/** Bytes of lines gathered before they are written. */
const chunk = 64 * 1024;

/** The file of keys: whole lines, as they come. */
export class KeyFile {
  lines = 0;
  readonly #stream: WriteStream;
  #text = '';

  constructor(stream: WriteStream) {
    this.#stream = stream;
  }

  /** Made for its reader alone. @throws Error where there is something by this name */
  static async open(path: string): Promise<KeyFile> {
    const stream = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    try {
      await once(stream, 'open');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const sentence =
        code === 'EEXIST'
          ? 'is there already. Keys that were made once are not made again: name another file.'
          : `cannot be written: ${code === 'ENOENT' ? 'its folder is not there' : fileFault(error)}.`;
      throw new Error(`${path} ${sentence}`, { cause: error });
    }
    return new KeyFile(stream);
  }

  add(key: SeededKey): Promise<void> | undefined {
    this.lines += 1;
    this.#text += `${JSON.stringify(key)}\n`;
    return this.#text.length >= chunk ? this.#flush() : undefined;
  }

  async #flush(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    if (!this.#stream.write(text)) await once(this.#stream, 'drain');
  }

  async close(): Promise<void> {
    this.#stream.end(this.#text);
    this.#text = '';
    await finished(this.#stream);
  }
}
