import { isBefore } from '../followers/checkpoint.ts';
import type { HaltedFollower } from '../followers/halted-follower.ts';

/** Who applies the log, and how far he has come. */
export interface Advancing {
  readonly position: bigint | null;
  readonly halted: HaltedFollower | undefined;
}

interface Waiter<Follower> {
  readonly position: bigint;
  /** Undefined: all that go on. */
  readonly followers: readonly Follower[] | undefined;
  resolve(reached: boolean): void;
}

/** Those who wait until followers of the log have come so far. @param going those of them that have not stopped */
export const rowWaiters = <Follower extends Advancing>(going: () => readonly Follower[]) => {
  const waiters = new Set<Waiter<Follower>>();
  let isOver = false;
  /** Tells whom it concerns; called whenever one has come further or has stopped. */
  const look = (): void => {
    for (const { position, followers = going(), resolve } of [...waiters]) {
      const behind = followers.filter((follower) => isBefore(follower.position, position));
      const isReached = followers.length > 0 && behind.length === 0;
      if (isReached || isOver || followers.length === 0 || behind.some(({ halted }) => halted)) resolve(isReached);
    }
  };
  return {
    look,
    /** Resolves true once these have it, or all that go on; false when `withinMs` pass before or it cannot come any more. */
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
    /** From now on nobody waits. */
    end(): void {
      isOver = true;
      look();
    },
  };
};
