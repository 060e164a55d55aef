/** The generator's process: one closed loop per question, measured from within. */
import { serveParent } from '../machine/parent.ts';
import { ClosedLoop, type LoopOptions } from './closed-loop.ts';
import { sampleWindow, type WindowOptions } from './sample.ts';

/** The request goes over as text, one byte a character. */
export type Order = WindowOptions & Omit<LoopOptions, 'request'> & { readonly request: string };

serveParent((question) => {
  const order = question as Order;
  return sampleWindow(order, new ClosedLoop({ ...order, request: Buffer.from(order.request, 'latin1') }));
});
