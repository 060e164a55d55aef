import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, noFigures, type Plan, skip } from './figures.ts';
import { Load } from './load.ts';
import { History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { compile, DidNotStart, noCompiler, Scene } from './scene.ts';

const EXIT_LIMIT_MS = 1000;
const GIVE_UP_MS = 20_000;
/** Fails at calls 1…8, which fall into the start, and then at calls further and further apart. */
const callOf = (cycle: number, total: number): number =>
  cycle < 8 ? cycle + 1 : 9 + Math.floor(((cycle - 8) * 491) / Math.max(1, total - 8));

/**
 * D4: the k-th fdatasync fails with EIO. Nothing asked for after that is acknowledged, the process ends at once, and a
 * restart has everything that was acknowledged. `count` is how many k are tried. The canary ignores failed commits.
 */
export async function torturedByIoErrors({ count: cycles, seed, canary = false }: Plan): Promise<Figures> {
  if (noCompiler !== undefined) return skip(seed, `failing fdatasync: ${noCompiler}`);
  const figures = noFigures(seed);
  const random = seeded(seed);
  const exits: number[] = [];
  for (; figures.cycles < cycles; figures.cycles++) {
    const k = canary ? 30 : callOf(figures.cycles, cycles);
    const name = `fdatasync ${k}`;
    const scene = new Scene();
    try {
      const dir = scene.dir();
      const failed = join(scene.dir(), 'failed');
      const history = new History();
      const load = new Load(history, random, String(k), 6);
      const settings = canary ? { faults: { ignoreCommitErrors: true } } : {};
      const env = { LD_PRELOAD: compile('../embedded/sync-shim.c', scene.dir()), SYNC_FAIL_AT: String(k), SYNC_FAILED: failed };
      try {
        const store = await scene.start(dir, { settings, env });
        const writing = load.run(scene.connect(store.endpoint), () => failedLongAgo(failed, canary));
        await Promise.race([store.exited, writing.then(() => wait(canary ? 0 : GIVE_UP_MS))]);
        if (store.process.exitCode === null && !canary) complain(figures, `${name}: the store goes on`);
        if (!canary) exits.push(monotonicMs() - failureMs(failed));
        if (/unhandled/.test(store.said())) complain(figures, `${name}: ${store.said()}`);
        await store.kill();
        await writing;
      } catch (error) {
        // Where the store fails while it starts it has acknowledged nothing.
        if (!(error instanceof DidNotStart) || error.signal !== null) throw error;
      }
      const again = await scene.start(dir);
      figures.restartMs.push(again.readyMs);
      await inspect(scene.connect(again.endpoint), history, figures, name);
      figures.acknowledged += history.acknowledged;
      await again.kill();
    } finally {
      await scene.end();
    }
  }
  const slowest = Math.max(0, ...exits);
  figures.notes.push(`exits at most ${Math.round(slowest)} ms after the failure`);
  if (cycles >= 100 && slowest > EXIT_LIMIT_MS) complain(figures, `an exit took ${Math.round(slowest)} ms`);
  return figures;
}

const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const failureMs = (file: string): number => (existsSync(file) ? Number(readFileSync(file, 'utf8')) / 1e6 : monotonicMs());
/** A canary goes on for a while after the failure; a sound store ends the writers by its own end. */
const failedLongAgo = (file: string, canary: boolean): boolean =>
  canary && existsSync(file) && monotonicMs() - failureMs(file) > 300;
