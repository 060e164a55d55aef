import { isBefore } from '../followers/checkpoint.ts';
import type { HaltedFollower } from '../followers/halted-follower.ts';

export interface Advancing {
  readonly position: bigint | null;
  readonly halted: HaltedFollower | undefined;
}

interface Waiter<Follower> {
  readonly position: bigint;
  /** Default: all that have not halted. */
  readonly followers: readonly Follower[] | undefined;
  resolve(reached: boolean): void;
}

/** Callers that wait until followers have reached a position. @param going the followers that have not halted */
export const rowWaiters = <Follower extends Advancing>(going: () => readonly Follower[]) => {
  const waiters = new Set<Waiter<Follower>>();
  let isOver = false;
  const look = (): void => {
    for (const { position, followers = going(), resolve } of [...waiters]) {
      const behind = followers.filter((follower) => isBefore(follower.position, position));
      const isReached = followers.length > 0 && behind.length === 0;
      if (isReached || isOver || followers.length === 0 || behind.some(({ halted }) => halted)) resolve(isReached);
    }
  };
  return {
    look,
    /** Resolves true once these followers have reached it; false after `withinMs`, or when they no longer can. */
    reached(position: bigint, withinMs: number, followers: readonly Follower[] | undefined): Promise<boolean> {
      return new Promise((resolve) => {
        const settle = (reached: boolean) => {
          clearTimeout(timer);
          waiters.delete(waiter);
          resolve(reached);
        };
        const timer = setTimeout(() => settle(false), withinMs);
        const waiter: Waiter<Follower> = { position, followers, resolve: settle };
        waiters.add(waiter);
        look();
      });
    },
    end(): void {
      isOver = true;
      look();
    },
  };
};
