import { runChild } from '../../run-child.ts';
import { StoreCorrupt } from '../records/corrupt.ts';

/** Opens the file in a child process; `all` reads every page, else the tables' ends. @throws StoreCorrupt when it dies */
export async function probe(file: string, all: boolean): Promise<void> {
  const { code, killedBy, error } = await runChild('probe', [file, all ? 'all' : 'ends']);
  if (killedBy !== undefined) {
    throw new StoreCorrupt(`Reading ${file} kills the process (${killedBy}): the file is damaged.`);
  }
  if (code !== 0) {
    throw new StoreCorrupt(`${file} cannot be read: ${error ?? 'the check ended without saying why.'}`);
  }
}
