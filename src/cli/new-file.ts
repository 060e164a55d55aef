import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { fileFault } from '../folder.ts';
import { Failure } from '../process/failure.ts';

const chunkLength = 256 * 1024;

/** Writes a text, and renames the file into place once it is complete and synced. @throws Failure if it exists or cannot be made */
export const writeNewFile = async <T>(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> => {
  if (existsSync(path)) throw new Failure(`${path} exists already.`);
  const draft = `${path}.partial`;
  const file = await open(draft, 'w', 0o600).catch((error: unknown) => {
    throw new Failure(`${path} cannot be written: ${fileFault(error)}.`, 1, error);
  });
  try {
    let chunk = '';
    const result = await work(async (text) => {
      chunk += text;
      if (chunk.length < chunkLength) return;
      await file.write(chunk);
      chunk = '';
    });
    await file.write(chunk);
    await file.sync();
    await rename(draft, path);
    return result;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
};
