import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { complain, type Figures, type Plan, skip } from './figures.ts';
import { Load } from './load.ts';
import { History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { fromBuild, has, Scene } from './scene.ts';

/** A command whose process is number 1 of a PID namespace of its own, as in a container; killed, it takes that with it. */
export const inOwnNamespace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'] as const;

/** As above, on what looks like another machine, or the same after a restart: the kernel names another boot. */
export const onAnotherBoot = (bootFile: string) => [
  ...inOwnNamespace,
  '--mount',
  'sh',
  '-c',
  `mount --bind ${bootFile} /proc/sys/kernel/random/boot_id && exec "$@"`,
  'sh',
];

let tried: { readonly why: string | undefined } | undefined;

/** Why no PID namespace can be made here; undefined where it can. */
export const noNamespace = (): string | undefined => {
  if (process.platform !== 'linux') return 'this is not Linux';
  tried ??= { why: has(...inOwnNamespace, 'true') ? undefined : 'unshare may not make a PID namespace' };
  return tried.why;
};

/** Each opener is on the host or in a container of its own, where its process has the number 1. */
const places = [[], inOwnNamespace] as const;

/**
 * D15: a store that is written to is opened a second time from another PID namespace, which has to be refused and to harm
 * nothing; its holder is killed, and the next one from there has what was acknowledged. `count` is the number of holders.
 * In the canary the second holds the claim of the first for dead, as it would by its process id alone.
 */
export async function torturedByNamespaces({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  const why = noNamespace();
  if (why !== undefined) return skip(figures, `PID namespaces: ${why}`);
  const { verifyStore } =
    await fromBuild<typeof import('../../src/embedded/maintenance/verify.ts')>('maintenance/verify');
  for (let cycle = from; cycle < from + count; cycle++, figures.cycles++) {
    const scene = new Scene();
    try {
      const random = seeded(seed, cycle);
      const name = `cycle ${cycle}`;
      const first = places[random.between(0, 1)]!;
      const second = first.length === 0 ? inOwnNamespace : places[random.between(0, 1)]!;
      const dir = scene.dir();
      const history = new History();
      const load = new Load(history, random, String(cycle));
      const holder = await scene.start(dir, { under: first });
      const writing = load.begin(scene.connect(holder.endpoint));
      await writing.reached(random.between(20, 200));
      if (canary) for (const file of readdirSync(dir)) if (file.startsWith('lock.')) rmSync(join(dir, file));
      const refusal = await scene.start(dir, { under: second }).then(
        () => 'it was let in',
        (error: Error) => error.message,
      );
      if (!refusal.includes('StoreLocked')) complain(figures, `${name}: beside the holder, ${refusal}`);
      if (!(await writing.reached(history.acknowledged + 20))) complain(figures, `${name}: the holder has ended`);
      await holder.kill();
      await writing.ended;
      if (canary) continue;
      const next = await scene.start(dir, { under: second });
      figures.restartMs.push(next.readyMs);
      await inspect(scene.connect(next.endpoint), history, figures, name);
      const { verdict } = await verifyStore(dir);
      if (verdict !== 'ok') complain(figures, `${name}: the store is ${verdict}`);
      await next.kill();
      figures.acknowledged += history.acknowledged;
    } finally {
      await scene.end();
    }
  }
}
