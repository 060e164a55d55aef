import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { pinned } from '../machine/pin.ts';
import { type Measured, measureOnce } from '../measure.ts';
import { cachedPackage } from '../peers/package-cache.ts';
import { type Bar, type BarRule, barOf } from '../report/bar.ts';
import { estimate, median, pairedRatios } from '../report/statistics.ts';
import type { Stage } from '../stage.ts';
import { closedPlan, contender } from './plans.ts';
import { helloRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';

const run = promisify(execFile);

const cannon = { name: 'autocannon', version: '9.0.0', entry: 'autocannon.js' };
const mostDifference = 0.1;

/** Another load generator: requests per second of the same closed loop. */
interface Other {
  readonly name: string;
  perSecond(url: string, connections: number, seconds: number): Promise<number>;
}

/** `Requests/sec:  12345.67` in the report of wrk. @throws Error where it is not there */
export const readWrk = (report: string): number => {
  const found = /^Requests\/sec:\s+([\d.]+)$/m.exec(report);
  if (!found) throw new Error(`wrk said no rate: ${report.slice(0, 200)}`);
  return Number(found[1]);
};

/** Requests per second in the JSON of autocannon: all that were answered by the time it took. */
export const readAutocannon = (report: string): number => {
  const { requests, duration } = JSON.parse(report) as { requests: { total: number }; duration: number };
  return requests.total / duration;
};

const others = async (stage: Stage): Promise<{ found: readonly Other[]; notes: readonly string[] }> => {
  const found: Other[] = [];
  const notes: string[] = [];
  const outputOf = async (command: readonly string[]): Promise<string> => {
    const [file = '', ...args] = pinned(stage.pinning.generator, command);
    return (await run(file, args, { maxBuffer: 2 ** 24 })).stdout;
  };
  try {
    // It tells its version with a failing status.
    await run('sh', ['-c', 'command -v wrk']);
    found.push({
      name: 'wrk',
      perSecond: async (url, connections, seconds) =>
        readWrk(await outputOf(['wrk', '-t1', `-c${connections}`, `-d${Math.ceil(seconds)}s`, url])),
    });
  } catch {
    notes.push('wrk skipped: it is not installed (Debian: apt-get install wrk)');
  }
  const autocannon = await cachedPackage(stage, cannon);
  if ('reason' in autocannon) notes.push(autocannon.reason);
  else
    found.push({
      name: 'autocannon',
      perSecond: async (url, connections, seconds) => {
        const options = ['-j', '-n', '-c', String(connections), '-d', String(Math.ceil(seconds)), url];
        return readAutocannon(await outputOf([process.execPath, autocannon.file, ...options]));
      },
    });
  return { found, notes };
};

const ruleOf = (name: string): BarRule => ({
  id: `cross-${name}`,
  title: `the same closed loop counted by ${name}: its rate beside ours, difference`,
  unit: '×',
  atMost: mostDifference,
});

/** The same load by three generators, which must agree where none of them is the limit. */
export const crossCheck: Scenario = {
  id: 'cross-check',
  title: 'Other generators count the same',
  about: [
    '64 connections in a closed loop against a server that answers after 5 ms, by this generator, wrk and autocannon in turns: all are far below their limits, so that requests per second must agree within 10 %.',
  ],
  async run(stage) {
    const target = await stage.server('late', 'The late server', new URL('../peers/late-hello.ts', import.meta.url));
    const { found, notes } = await others(stage);
    const plan = closedPlan(stage, helloRequest, { connections: 64 });
    const own = contender('late', 'this generator', target, plan, null, 'proxied');
    const { rounds, seconds } = stage.settings;
    const length = Math.max(1, Math.ceil(seconds));
    const samples: Measured['samples'][number][] = [];
    const rates = new Map(found.map(({ name }) => [name, [] as number[]]));
    for (let round = 0; round < rounds && !stage.interrupted.aborted; round++) {
      stage.tell(`round ${round + 1} of ${rounds}`, round / rounds);
      samples.push((await measureOnce(stage, own, length)).sample);
      for (const { name, perSecond } of found) {
        rates.get(name)!.push(await perSecond(`http://127.0.0.1:${target.address.port}/`, 64, length));
      }
    }
    const ours = samples.map(({ done, seconds: took }) => done / took);
    const barsOf = (): Bar[] =>
      [...rates].map(([name, theirs]) => {
        if (theirs.length !== ours.length || ours.length === 0) return barOf(ruleOf(name), null);
        const { median: middle, low, high } = estimate(pairedRatios(theirs, ours));
        const note = `${name} ${Math.round(median(theirs))}/s, ours ${Math.round(median(ours))}/s`;
        const off = (ratio: number): number => Math.abs(ratio - 1);
        return barOf(
          ruleOf(name),
          { median: off(middle), low: Math.min(off(low), off(high)), high: Math.max(off(low), off(high)) },
          note,
        );
      });
    return { measured: [{ contender: own, samples, inside: samples.map(() => null) }], rounds, notes, barsOf };
  },
};
