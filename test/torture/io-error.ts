import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, type Plan, skip } from './figures.ts';
import { Load } from './load.ts';
import { History, monotonicMs } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { compile, DidNotStart, noCompiler, Scene } from './scene.ts';

const GIVE_UP_MS = 20_000;
/** Where a canary goes on, it is stopped so long after the failure. */
const CANARY_MS = 300;
/** A hundred cycles are k = 1 to 100, each once, in an order in which a few of them are spread over all. */
const callOf = (cycle: number): number => (cycle < 100 ? 1 + ((cycle * 37) % 100) : cycle + 1);

/**
 * D4: the k-th fdatasync fails with EIO. Nothing asked for after that is acknowledged, the process ends at once, and a
 * restart has everything that was acknowledged. `count` is how many k are tried. The canary ignores failed commits.
 */
export async function torturedByIoErrors({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  if (noCompiler !== undefined) return skip(figures, `failing fdatasync: ${noCompiler}`);
  const exits: number[] = [];
  let late = 0;
  for (let cycle = from; cycle < from + count; cycle++, figures.cycles++) {
    const k = canary ? 30 : callOf(cycle);
    const name = `cycle ${cycle} (fdatasync ${k} fails)`;
    const scene = new Scene();
    try {
      const dir = scene.dir();
      const failed = join(scene.dir(), 'failed');
      const history = new History();
      const load = new Load(history, seeded(seed, cycle), String(k), 6);
      const settings = canary ? { faults: { ignoreCommitErrors: true } } : { embedded: true };
      const env = {
        LD_PRELOAD: compile('../embedded/sync-shim.c', scene.dir()),
        SYNC_FAIL_AT: String(k),
        SYNC_FAILED: failed,
      };
      try {
        const store = await scene.start(dir, { settings, env });
        const enough = () => canary === true && monotonicMs() - failureMs(failed) > CANARY_MS;
        const writing = load.run(scene.connect(store.endpoint), enough);
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
      if (!existsSync(failed)) complain(figures, `${name}: no fdatasync has failed`);
      for (const { stream } of history.acknowledgedAfter(failureMs(failed))) {
        late++;
        complain(figures, `${name}: ${stream} was asked for after the failure and acknowledged`);
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
  const slowest = Math.round(Math.max(0, ...exits));
  figures.notes.push(`${late} acknowledged after the failure; the process ends at most ${slowest} ms after it`);
}

/** When the call failed, on the clock that all processes share; never, while it has not. */
const failureMs = (file: string): number => {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return text === '' ? Number.POSITIVE_INFINITY : Number(text) / 1e6;
};
