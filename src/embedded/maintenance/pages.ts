import { StoreCorrupt } from '../store/records/corrupt.ts';
import { inChild } from './in-child.ts';

/**
 * Walks the pages of a store that is being served, in a process of its own that gives way to all others: for a file that
 * nobody has written to since it was closed, which then need not be read to its end before it serves. What this finds is
 * what the disk has lost by itself.
 * @returns the damage; undefined where there is none, or the walk did not come to its end
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
