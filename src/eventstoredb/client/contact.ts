import type { Clock, Millis } from '../../clock.ts';
import { StoreRefuses, type StoreState } from '../../kernel/store/store.ts';
import { publish } from '../../telemetry.ts';
import { finalError, saysWhy } from './errors.ts';

/** Pause between reminders while the store is lost. */
const remindMs = 60_000;

export interface Loss {
  /** Monotonic. */
  readonly at: Millis;
  readonly why: string;
  /** The store denies the user a right. */
  readonly refuses: boolean;
}

/** Whether the store takes commands, as the probe found: a leader with a quorum, and the right to append (contract K.1). */
export interface Contact {
  readonly wasAnswered: boolean;
  /** Undefined while commands are taken, and before the first answer. */
  readonly lost: Loss | undefined;
  readonly state: StoreState;
  /** The error of a call; before the first answer the result of a look at the hosts. */
  told(error: unknown): Promise<unknown>;
  answered(): void;
  /** Results of the probe. `moved`: there is a new leader. */
  found(moved: boolean): void;
  missed(error: unknown): void;
  /** A reader of the log lost its connection. Reported only if the next probe succeeds. */
  stumbled(error: unknown): void;
  /** Resolves when commands are taken again, or after `ms`. */
  back(ms: Millis): Promise<void>;
}

export const contact = (clock: Clock, look: (error: unknown) => Promise<unknown>): Contact => {
  let wasAnswered = false;
  let state: StoreState = { is: 'unknown', why: 'it has not been asked yet' };
  let lost: Loss | undefined;
  let saidAt = 0;
  let stumble: string | undefined;
  let stumbledAt = Number.NEGATIVE_INFINITY;
  const waiting = waiters();

  return {
    get wasAnswered() {
      return wasAnswered;
    },
    get lost() {
      return lost;
    },
    get state() {
      return state;
    },
    told: async (error) => (wasAnswered ? error : look(error)),
    answered() {
      wasAnswered = true;
    },
    found(moved) {
      wasAnswered = true;
      state = { is: 'there' };
      if (moved) publish('store.moved', {});
      if (stumble !== undefined && clock.monotonic() - stumbledAt >= remindMs) {
        stumbledAt = clock.monotonic();
        publish('store.stumbled', { reason: stumble });
      }
      stumble = undefined;
      if (lost === undefined) return;
      publish('store.back', { afterMs: Math.round(clock.monotonic() - lost.at) });
      lost = undefined;
      waiting.wakeAll();
    },
    missed(error) {
      const now = clock.monotonic();
      const told = finalError(error, { tries: 1, wasAnswered: true, right: 'read $all' }) ?? error;
      const why = saysWhy(told);
      if (!wasAnswered) {
        state = { is: 'unknown', why };
        publish('store.awaited', { reason: why });
        return;
      }
      stumble = undefined;
      const refuses = told instanceof StoreRefuses;
      state = { is: 'lost', why, refuses };
      if (lost === undefined) {
        saidAt = now;
        publish('store.lost', { reason: why });
      } else if (now - saidAt >= remindMs) {
        saidAt = now;
        publish('store.away', { reason: why, forMs: Math.round(now - lost.at) });
      }
      lost = { at: lost?.at ?? now, why, refuses };
    },
    stumbled(error) {
      if (state.is === 'there') stumble = saysWhy(error);
    },
    back: (ms) => (lost === undefined ? Promise.resolve() : waiting.wait(ms)),
  };
};

const waiters = () => {
  const waiting = new Set<() => void>();
  return {
    wait: (ms: Millis): Promise<void> =>
      new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        waiting.add(wake);
      }),
    wakeAll(): void {
      for (const wake of waiting) wake();
    },
  };
};
