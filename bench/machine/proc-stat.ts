import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';

/** Text of a file under /proc, or null where there is none: another system, or a process that has ended. */
const proc = (path: string): string | null => {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return null;
  }
};

const ticksPerSecond = (): number => {
  try {
    return Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'latin1' })) || 100;
  } catch {
    return 100;
  }
};

let microsPerTick = 0;

export interface Cpu {
  readonly user: number;
  readonly system: number;
}

/** User and system ticks out of /proc/<pid>/stat; the name in it may hold spaces and parentheses. */
export const ticksOf = (stat: string): Cpu => {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { user: Number(fields[11]), system: Number(fields[12]) };
};

/** CPU time of a process in microseconds, all its threads, also ended ones; null without /proc. */
export const cpuMicrosOf = (pid: number): Cpu | null => {
  const stat = proc(`${pid}/stat`);
  if (stat === null) return null;
  microsPerTick ||= 1e6 / ticksPerSecond();
  const { user, system } = ticksOf(stat);
  return { user: user * microsPerTick, system: system * microsPerTick };
};

/** How often the main thread has given up its core of itself, out of /proc/<pid>/status. */
export const sleepsIn = (status: string): number | null => {
  const found = /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status);
  return found === null ? null : Number(found[1]);
};

/** An amount of memory out of /proc/<pid>/status, in bytes. */
const memoryIn =
  (field: string) =>
  (status: string): number | null => {
    const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status);
    return found === null ? null : Number(found[1]) * 1024;
  };

/** The most that was resident since the process began, or since `forgetPeak`. */
export const peakIn = memoryIn('VmHWM');
/** Resident memory that no file stands behind: neither code nor the mapped pages of a store. */
export const anonymousIn = memoryIn('RssAnon');

const ofProcess =
  (read: (status: string) => number | null) =>
  (pid: number): number | null => {
    const status = proc(`${pid}/status`);
    return status === null ? null : read(status);
  };

export const sleepsOf = ofProcess(sleepsIn);
export const peakOf = ofProcess(peakIn);
export const anonymousOf = ofProcess(anonymousIn);

export interface MachineTicks {
  readonly all: number;
  readonly steal: number;
}

/** The first line of /proc/stat: user nice system idle iowait irq softirq steal; guest time is within user. */
export const readMachineTicks = (stat: string): MachineTicks => {
  const fields = stat.slice(0, stat.indexOf('\n')).trim().split(/\s+/).slice(1, 9).map(Number);
  return { all: fields.reduce((sum, ticks) => sum + ticks, 0), steal: fields[7] ?? 0 };
};

/** What the machine's CPUs have done since its start, over all cores; null without /proc. */
export const machineTicks = (): MachineTicks | null => {
  const stat = proc('stat');
  return stat === null ? null : readMachineTicks(stat);
};

/** Processes that wanted a core, over the last minute. */
export const loadNow = (): number => loadavg()[0] ?? 0;

/** Share of the time between two readings that the hypervisor gave to somebody else. */
export const stealShare = (before: MachineTicks | null, after: MachineTicks | null): number | null => {
  if (before === null || after === null || after.all <= before.all) return null;
  return (after.steal - before.steal) / (after.all - before.all);
};

/** Has the kernel count a process's highest resident memory anew; where it cannot, the highest is that of its whole life. */
export const forgetPeak = (pid: number): void => {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Another system, or another user's process.
  }
};
