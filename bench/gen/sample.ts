import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicrosOf, sleepsOf } from '../machine/proc-stat.ts';

/** What one window of load has shown. */
export interface Sample {
  /** Requests, appends or puts that were answered. */
  readonly done: number;
  readonly seconds: number;
  /** Bytes received, response heads included; 0 where nothing was counted. */
  readonly bytes: number;
  /** CPU time of the server's process, user and system, all its threads; null without /proc. */
  readonly serverMicros: number | null;
  /** How often the server's main thread ran out of work and slept; null without /proc. */
  readonly serverSleeps: number | null;
  /** CPU time of the process that makes the load. */
  readonly loadMicros: number;
}

export interface WindowOptions {
  /** The process whose CPU time counts. */
  readonly pid: number;
  /** Load before the first reading. */
  readonly rampMs: number;
  readonly seconds: number;
}

/** A load under way: what it has counted so far, and why it could not go on. */
export interface Load {
  readonly done: number;
  readonly bytes: number;
  readonly failure: Error | undefined;
  /** Lets what is under way end. */
  stop(): Promise<void>;
}

const read = (pid: number, { done, bytes }: Load) => ({
  at: performance.now(),
  done,
  bytes,
  cpu: cpuMicrosOf(pid),
  sleeps: sleepsOf(pid),
  own: process.cpuUsage(),
});

const difference = (after: number | null, before: number | null): number | null =>
  after === null || before === null ? null : after - before;

/**
 * Reads clock, counter and CPU times together at both ends of a window, in the process that counts, then stops the load.
 * @throws what has stopped the load before
 */
export const sampleWindow = async (options: WindowOptions, load: Load): Promise<Sample> => {
  const { pid, rampMs, seconds } = options;
  await sleep(rampMs);
  const before = read(pid, load);
  await sleep(seconds * 1000);
  const after = read(pid, load);
  await load.stop();
  if (load.failure) throw load.failure;
  return {
    done: after.done - before.done,
    seconds: (after.at - before.at) / 1000,
    bytes: after.bytes - before.bytes,
    serverMicros: difference(after.cpu, before.cpu),
    serverSleeps: difference(after.sleeps, before.sleeps),
    loadMicros: after.own.user + after.own.system - before.own.user - before.own.system,
  };
};
