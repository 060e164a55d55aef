import { setTimeout as sleep } from 'node:timers/promises';
import { type Cpu, cpuMicrosOf, sleepsOf } from '../machine/proc-stat.ts';

/** What one window of load has shown. */
export interface Sample {
  /** Requests, appends or puts that were answered. */
  readonly done: number;
  readonly seconds: number;
  /** Bytes received, response heads included; 0 where nothing was counted. */
  readonly bytes: number;
  /** CPU time of the server's process, user and system, all its threads; null without /proc. */
  readonly serverMicros: number | null;
  /** The part of it that the kernel has spent for the process. */
  readonly serverSystemMicros: number | null;
  /** How often the server's main thread ran out of work and slept; null without /proc. */
  readonly serverSleeps: number | null;
  /** CPU time of the process that makes the load. */
  readonly loadMicros: number;
}

export interface WindowOptions {
  /** The process whose CPU time counts; null for one that is not on this machine. */
  readonly pid: number | null;
  /** Load before the first reading. */
  readonly rampMs: number;
  readonly seconds: number;
}

/** A load under way: what it has counted so far, and why it could not go on. */
export interface Load {
  readonly done: number;
  readonly bytes: number;
  readonly failure: Error | undefined;
  /** The window begins and ends; what is recorded beside the counts is of what lies between. */
  begin?(): void;
  end?(): void;
  /** Lets what is under way end. */
  stop(): Promise<void>;
}

const read = (pid: number | null, { done, bytes }: Load) => ({
  at: performance.now(),
  done,
  bytes,
  cpu: pid === null ? null : cpuMicrosOf(pid),
  sleeps: pid === null ? null : sleepsOf(pid),
  own: process.cpuUsage(),
});

const difference = (after: number | null, before: number | null): number | null =>
  after === null || before === null ? null : after - before;

const sum = (cpu: Cpu | null): number | null => cpu && cpu.user + cpu.system;

const sliceMs = 100;

/** Waits, unless the load fails or the wait is cut off. */
const waitFor = async (ms: number, load: Load, cut: AbortSignal | undefined): Promise<void> => {
  const until = performance.now() + ms;
  while (load.failure === undefined && !cut?.aborted) {
    const left = until - performance.now();
    if (left <= 0) return;
    await sleep(Math.min(sliceMs, left));
  }
};

/**
 * Reads clock, counter and CPU times together at both ends of a window, in the process that counts, then stops the load.
 * @param cut ends the window before its time
 * @throws what has stopped the load before
 */
export const sampleWindow = async (options: WindowOptions, load: Load, cut?: AbortSignal): Promise<Sample> => {
  const { pid, rampMs, seconds } = options;
  await waitFor(rampMs, load, cut);
  load.begin?.();
  const before = read(pid, load);
  await waitFor(seconds * 1000, load, cut);
  const after = read(pid, load);
  load.end?.();
  await load.stop();
  if (load.failure) throw load.failure;
  return {
    done: after.done - before.done,
    seconds: (after.at - before.at) / 1000,
    bytes: after.bytes - before.bytes,
    serverMicros: difference(sum(after.cpu), sum(before.cpu)),
    serverSystemMicros: difference(after.cpu?.system ?? null, before.cpu?.system ?? null),
    serverSleeps: difference(after.sleeps, before.sleeps),
    loadMicros: after.own.user + after.own.system - before.own.user - before.own.system,
  };
};
