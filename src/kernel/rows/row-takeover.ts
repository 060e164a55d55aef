import type { Millis } from '../../clock.ts';
import type { DiskSpace } from './disk-space.ts';
import type { RowStore } from './rows.ts';

/** Between two steps, which take some milliseconds each. */
const pauseMs: Millis = 15;

/**
 * Gives their sums to the rows of an earlier release, some at a time, beside all else. The returned function ends that; the next
 * start goes on with it.
 */
export const takeOverRows = (
  rows: Pick<RowStore<object>, 'takeOver'>,
  disk: Pick<DiskSpace, 'write'>,
  inTurn: <T>(task: () => Promise<T>) => Promise<T>,
  failed: (error: Error) => void,
): (() => void) => {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const step = async (): Promise<void> => {
    let isDone = false;
    const isWritten = await disk.write(async () => {
      isDone = isOver || (await rows.takeOver());
    });
    if (!isDone && isWritten && !isOver) next();
  };
  const next = (): void => {
    timer = setTimeout(() => inTurn(step).catch(failed), pauseMs).unref();
  };
  next();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
};
