import type { Clock, Millis } from '../../clock.ts';
import { StoreRefuses, type StoreState } from '../../kernel/store/store.ts';
import { publish } from '../../telemetry.ts';
import { finalError, saysWhy } from './errors.ts';

/** While the store is away, that is said so often. */
const remindMs = 60_000;

/** Nothing is known to take commands. */
export interface Loss {
  /** Since when; monotonic. */
  readonly at: Millis;
  /** What the last look found. */
  readonly why: string;
  /** It answers that we may not. */
  readonly refuses: boolean;
}

/**
 * Whether the store takes commands, as the probe has found it: a leader that a quorum backs, and the right to append
 * (contract K.1). That something else of it answers is no sign of that.
 */
export interface Contact {
  /** Whether the store has ever answered us. */
  readonly wasAnswered: boolean;
  /** Undefined while something takes commands, and before the first answer. */
  readonly lost: Loss | undefined;
  readonly state: StoreState;
  /** The error of a call; before the first answer rather what a look at the hosts has told. */
  told(error: unknown): Promise<unknown>;
  /** Any answer to any call. */
  answered(): void;
  /** The probe's findings. `moved`: the leader is another than before. */
  found(moved: boolean): void;
  missed(error: unknown): void;
  /** A reader of the log lost its connection. The next finding decides: it is told where commands are taken all the same. */
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
    /** Resolves with `wakeAll`, or after `ms`. */
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
