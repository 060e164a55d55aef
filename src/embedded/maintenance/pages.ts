import { StoreCorrupt } from '../store/records/corrupt.ts';
import { inChild } from './in-child.ts';

/**
 * Walks the pages of a store in a low-priority process while it is served, which saves the walk before it serves. Finds what
 * the disk has lost since the store was closed.
 * @returns undefined without damage or where the walk did not finish
 */
export async function damageOfPages(dir: string, calledOff: AbortSignal): Promise<StoreCorrupt | undefined> {
  let damage: string | undefined;
  try {
    const { killedBy } = await inChild(
      ['pages', dir],
      (line) => {
        if ('damage' in line) damage = line.damage.what;
      },
      calledOff,
    );
    if (killedBy !== undefined) damage = `Reading ${dir} kills the process (${killedBy}): it is damaged.`;
  } catch {
    return undefined;
  }
  return damage === undefined ? undefined : new StoreCorrupt(damage);
}
