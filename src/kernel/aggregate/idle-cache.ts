import type { Clock } from '../../clock.ts';

interface Slot<T> {
  readonly value: T;
  /** Uses that have not ended. */
  uses: number;
  usedAt: number;
}

/** What is in use, and what was lately: bounded in number and in idle time, swept in passing, without a timer. */
export interface IdleCache<T> {
  /** Runs with the value of this key, which is made where there is none and stays at least until the end. */
  use<R>(key: string, work: (value: T) => Promise<R>): Promise<R>;
  readonly size: number;
  /** What there is at the moment. */
  values(): Iterable<T>;
}

export const idleCache = <T>(options: {
  readonly make: () => T;
  readonly clock: Clock;
  readonly idleMs: number;
  /** Bounds what is idle; what is in use is never forgotten. */
  readonly max: number;
}): IdleCache<T> => {
  const { make, clock, idleMs, max } = options;
  /** In the order of their last use, the oldest first. */
  const slots = new Map<string, Slot<T>>();

  const sweep = (): void => {
    const old = clock.monotonic() - idleMs;
    for (const [key, slot] of slots) {
      if (slots.size <= max && slot.usedAt > old) return;
      if (slot.uses === 0) slots.delete(key);
    }
  };

  const touch = (key: string, slot: Slot<T>): void => {
    slot.usedAt = clock.monotonic();
    slots.delete(key);
    slots.set(key, slot);
  };

  return {
    async use(key, work) {
      const slot = slots.get(key) ?? { value: make(), uses: 0, usedAt: 0 };
      slot.uses++;
      touch(key, slot);
      sweep();
      try {
        return await work(slot.value);
      } finally {
        slot.uses--;
        touch(key, slot);
        sweep();
      }
    },
    *values() {
      for (const { value } of slots.values()) yield value;
    },
    get size() {
      return slots.size;
    },
  };
};
