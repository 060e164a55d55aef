/** The window store of Weir in a loop: an attempt at three scopes, tokens reserved, headers written, settled. */
import { serveParent } from '../machine/parent.ts';
import { CountedCrowd } from './crowd.ts';
import { cpuMicros, type MicroSample, type Order, stepMs } from './traffic.ts';

export interface WindowsOrder extends Order {
  readonly tier: 0 | 5;
  readonly withHeaders: boolean;
}

interface Filled {
  readonly crowd: CountedCrowd;
  readonly processBytes: number;
  now: number;
}
let filled: Filled | undefined;

const fill = ({ keys, tier }: WindowsOrder): Filled => {
  const before = process.memoryUsage().rss;
  const crowd = new CountedCrowd(keys, tier, 0);
  return { crowd, processBytes: (process.memoryUsage().rss - before) / keys, now: 61_000 };
};

const run = (world: Filled, { withHeaders }: WindowsOrder, operations: number): number => {
  let admitted = 0;
  for (let n = 0; n < operations; n++) {
    world.now += stepMs;
    if (world.crowd.request(world.now, withHeaders)) admitted++;
  }
  return admitted;
};

serveParent(async (question) => {
  const order = question as WindowsOrder;
  filled ??= fill(order);
  run(filled, order, order.warmUp);
  const before = cpuMicros();
  const admitted = run(filled, order, order.operations);
  const nanoseconds = ((cpuMicros() - before) * 1000) / order.operations;
  const { store, headerBytes } = filled.crowd;
  if (headerBytes < 0) throw new Error('no headers');
  return {
    nanoseconds,
    admitted: admitted / order.operations,
    recordBytes: store.slab.bytes / order.keys,
    processBytes: filled.processBytes,
  } satisfies MicroSample;
});
