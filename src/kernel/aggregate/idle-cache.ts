import type { Clock } from '../../clock.ts';

interface Slot<T> {
  readonly value: T;
  uses: number;
  usedAt: number;
}

/** A cache bounded in number and idle time, swept at each use instead of by a timer. */
export interface IdleCache<T> {
  /** Runs with the value of this key, which is made if missing and is kept at least until the end. */
  use<R>(key: string, work: (value: T) => Promise<R>): Promise<R>;
  readonly size: number;
  values(): Iterable<T>;
}

export const idleCache = <T>(options: {
  readonly make: () => T;
  readonly clock: Clock;
  readonly idleMs: number;
  /** Bounds the idle values; values in use are always kept. */
  readonly max: number;
}): IdleCache<T> => {
  const { make, clock, idleMs, max } = options;
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
