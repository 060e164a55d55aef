/** The generator's process: one closed loop per question, measured from within. */
import { serveParent } from '../machine/parent.ts';
import { ClosedLoop, type LoopOptions } from './closed-loop.ts';
import { sampleWindow, type WindowOptions } from './sample.ts';

/** The request goes over as text, one byte a character. */
export type Order = WindowOptions & Omit<LoopOptions, 'request'> & { readonly request: string };

serveParent(async (question) => {
  const order = question as Order;
  const loop = new ClosedLoop({ ...order, request: Buffer.from(order.request, 'latin1') });
  try {
    return await sampleWindow(order, loop);
  } finally {
    await loop.stop();
    if (loop.failure) throw loop.failure;
  }
});
