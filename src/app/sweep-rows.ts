import { type Clock, dayMs, type Millis } from '../clock.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';

const stepMs: Millis = 10_000;

/** Removes expired rows once a day, some at each step. The returned function stops it. */
export const sweepRows = (models: Pick<ReadModels, 'sweep'>, clock: Pick<Clock, 'wall'>): (() => Promise<void>) => {
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
    // A failed write is tried again; the projections report the cause.
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
