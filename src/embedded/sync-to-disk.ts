import { open } from 'node:fs/promises';

/** Resolves once a file's data or a folder's names are on the disk. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
