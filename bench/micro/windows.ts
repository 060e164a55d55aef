/** The window store of Weir in a loop: an attempt at three scopes, tokens reserved, headers written, settled. */
import { start } from '../../src/limits/admit.ts';
import { inferenceWindows } from '../../src/limits/families.ts';
import { quotaLines } from '../../src/limits/headers.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { settle } from '../../src/limits/settle.ts';
import { isRefused } from '../../src/limits/ticket.ts';
import { type Counted, counted, type WindowStore } from '../../src/limits/window-store.ts';
import { serveParent } from '../machine/parent.ts';
import { cpuMicros, type MicroSample, type Order, ownersOf, popularKeys, stepMs, tokens } from './traffic.ts';

export interface WindowsOrder extends Order {
  readonly tier: 0 | 5;
  readonly withHeaders: boolean;
}

interface Filled {
  readonly order: WindowsOrder;
  readonly store: WindowStore;
  readonly seats: readonly Counted[];
  readonly drawn: Int32Array;
  readonly processBytes: number;
  now: number;
}
let filled: Filled | undefined;

const fill = (order: WindowsOrder): Filled => {
  const drawn = popularKeys(order.keys, 1 << 20);
  const before = process.memoryUsage().rss;
  const store = inferenceWindows({ tierOf: () => order.tier });
  const seats = Array.from({ length: order.keys }, (_, n) => {
    const { key, project, organization } = ownersOf(n);
    return counted(key, project, organization);
  });
  for (const seat of seats) {
    const ticket = start(store, seat, 0);
    if (!isRefused(ticket)) settle(store, reserve(store, ticket, 1, 0) as never, 1);
  }
  const processBytes = (process.memoryUsage().rss - before) / order.keys;
  return { order, store, seats, drawn, processBytes, now: 61_000 };
};

/** Kept from one call to the next, so that nothing is optimized away. */
let written = 0;

const run = (world: Filled, operations: number): number => {
  const { store, seats, drawn, order } = world;
  const { withHeaders } = order;
  let { now } = world;
  let admitted = 0;
  for (let n = 0; n < operations; n++) {
    now += stepMs;
    const seat = seats[drawn[n & (drawn.length - 1)]!]!;
    const ticket = start(store, seat, now);
    const reserved = isRefused(ticket) ? ticket : reserve(store, ticket, tokens.reserved, now);
    if (withHeaders) written += quotaLines(store, seat, now).length;
    if (isRefused(reserved)) continue;
    admitted++;
    settle(store, reserved, tokens.taken);
  }
  world.now = now;
  return admitted;
};

serveParent(async (question) => {
  const order = question as WindowsOrder;
  filled ??= fill(order);
  const world: Filled = Object.assign(filled, { order });
  run(world, order.warmUp);
  const before = cpuMicros();
  const admitted = run(world, order.operations);
  const nanoseconds = ((cpuMicros() - before) * 1000) / order.operations;
  if (written < 0) throw new Error('no headers');
  const { slabs } = world.store;
  return {
    nanoseconds,
    admitted: admitted / order.operations,
    recordBytes: slabs.bytes / order.keys,
    processBytes: world.processBytes,
  } satisfies MicroSample;
});
