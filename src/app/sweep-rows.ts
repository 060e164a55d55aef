import { type Clock, dayMs, type Millis } from '../clock.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';

/** Between two steps of a round through the rows. */
const stepMs: Millis = 10_000;

/**
 * Goes once a day through the rows that do not stay (usage of 400 days, decisions of 30), some at each step, and removes those that
 * are over. The returned function ends that.
 */
export const sweepRows = (models: Pick<ReadModels, 'sweep'>, clock: Pick<Clock, 'wall'>): (() => Promise<void>) => {
  /** When the last round began; there is one after each start. */
  let began: Millis | null = null;
  let isOver = false;
  let running: Promise<void> | null = null;
  const step = async (): Promise<void> => {
    const now = clock.wall();
    if (began === null || (isOver && now - began >= dayMs)) {
      began = now;
      isOver = false;
    }
    if (isOver) return;
    isOver = await models.sweep(now);
  };
  const timer = setInterval(() => {
    // What cannot be written is told by the events that cannot be either, and tried again.
    running ??= step()
      .catch(() => {})
      .finally(() => {
        running = null;
      });
  }, stepMs).unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
};
