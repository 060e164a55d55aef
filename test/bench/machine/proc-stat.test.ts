import { expect, test } from 'vitest';
import { coresOf, pinned } from '../../../bench/machine/pin.ts';
import {
  anonymousIn,
  cpuMicrosOf,
  peakIn,
  readMachineTicks,
  sleepsIn,
  stealShare,
  ticksOf,
} from '../../../bench/machine/proc-stat.ts';

test('CPU time is user and system, whatever the process is called', () => {
  const numbers = Array.from({ length: 49 }, (_, i) => i + 4);
  // Fields 14 and 15 of proc(5).
  expect(ticksOf(`42 (node) S ${numbers.join(' ')}`)).toEqual({ user: 14, system: 15 });
  expect(ticksOf(`42 (a ) R 1 (b) S ${numbers.join(' ')}`)).toEqual({ user: 14, system: 15 });
});

test.runIf(process.platform === 'linux')('CPU time of a process grows with its work, to the tick', () => {
  const ofProcess = () => {
    const { user, system } = cpuMicrosOf(process.pid)!;
    return user + system;
  };
  const before = { proc: ofProcess(), own: process.cpuUsage() };
  while (process.cpuUsage(before.own).user < 100_000);
  const own = process.cpuUsage(before.own);
  const micros = ofProcess() - before.proc;
  expect(Math.abs(micros - own.user - own.system)).toBeLessThan(60_000);
});

test('a process that is not there has no CPU time', () => {
  expect(cpuMicrosOf(2 ** 30)).toBeNull();
});

test('steal is its share of all time between two readings', () => {
  const before = readMachineTicks('cpu  100 0 50 800 10 0 5 35 0 0\ncpu0 1 2 3\n');
  expect(before).toEqual({ all: 1000, steal: 35 });
  expect(stealShare(before, { all: 2000, steal: 65 })).toBeCloseTo(0.03);
  expect(stealShare(null, before)).toBeNull();
  expect(stealShare(before, before)).toBeNull();
});

test('sleeps are the voluntary switches alone', () => {
  expect(sleepsIn('Threads:\t7\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t99\n')).toBe(12);
  expect(sleepsIn('Name:\tnode\n')).toBeNull();
});

test('resident memory is in bytes', () => {
  expect(peakIn('VmHWM:\t   90 kB\nVmRSS:\t   82 kB\n')).toBe(90 * 1024);
  expect(peakIn('Name:\tnode\n')).toBeNull();
  expect(anonymousIn('VmRSS:\t   82 kB\nRssAnon:\t   70 kB\nRssFile:\t   12 kB\n')).toBe(70 * 1024);
});

test('a list of cores has ranges and single ones', () => {
  expect(coresOf('0-3,8')).toEqual([0, 1, 2, 3, 8]);
  expect(coresOf('5')).toEqual([5]);
  expect(coresOf('')).toEqual([]);
});

test('a command without a core of its own is left as it is', () => {
  expect(pinned(null, ['node', 'x'])).toEqual(['node', 'x']);
  expect(pinned(3, ['node', 'x'])).toEqual(['taskset', '-c', '3', 'node', 'x']);
});
