/** The generator's process: one load per question, measured from within. */
import { serveParent } from '../machine/parent.ts';
import { forgetPeak, peakOf } from '../machine/proc-stat.ts';
import { HttpLoad, type HttpLoadOptions } from './http-load.ts';
import type { Recorded } from './record.ts';
import { type Sample, sampleWindow, type WindowOptions } from './sample.ts';

export type Order = WindowOptions & HttpLoadOptions;

/** A sample of a load over HTTP. */
export interface HttpSample extends Sample, Recorded {
  /** Share of the time in which the generator had something to do; its spinning while it waits is none. */
  readonly busy: number;
  /** Resident memory of the server at its highest, bytes; null without /proc. */
  readonly rss: number | null;
}

serveParent(async (question, cut): Promise<HttpSample> => {
  const order = question as Order;
  const load = new HttpLoad(order);
  if (order.pid !== null) forgetPeak(order.pid);
  const sample = await sampleWindow(order, load, cut);
  const micros = sample.seconds * 1e6;
  const busy = Math.max(0, Math.min(sample.loadMicros / micros, 1 - (load.idleMs * 1000) / micros));
  return { ...sample, ...load.recorder.recorded(), busy, rss: order.pid === null ? null : peakOf(order.pid) };
});
