/** The generator's process: one closed loop per question, measured from within. */
import { serveParent } from '../machine/parent.ts';
import { ClosedLoop, type LoopOptions } from './closed-loop.ts';
import { sampleWindow, type WindowOptions } from './sample.ts';

/** The requests go over as text, one byte a character. */
export type Order = WindowOptions & Omit<LoopOptions, 'requests'> & { readonly requests: readonly string[] };

serveParent((question) => {
  const order = question as Order;
  const requests = order.requests.map((request) => Buffer.from(request, 'latin1'));
  return sampleWindow(order, new ClosedLoop({ ...order, requests }));
});
