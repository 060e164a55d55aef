import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from './machine/child.ts';
import type { Pinning } from './machine/pin.ts';
import type { Meter } from './measure.ts';
import type { NamedUrl } from './options.ts';
import { startWeir, type Weir } from './peers/weir.ts';
import type { Behaviour } from './sim/behaviour.ts';
import type { Totals } from './sim/ledger.ts';
import { noKeys, type Target } from './target.ts';

/** What every scenario is told to keep to. */
export interface StageSettings {
  readonly rounds: number;
  /** Length of one measured window. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
  readonly seed: number;
  /** Whether others are measured beside Weir. */
  readonly withPeers: boolean;
  /** Whether what is missing may be installed into the cache folder. */
  readonly mayInstall: boolean;
  /** Gateways at an address, given by hand. */
  readonly others: readonly NamedUrl[];
  /** The key and the model that are used there. */
  readonly otherKey: string;
  readonly otherModel: string;
  /** The address of the gateway that is measured; null where the bench starts what it measures. */
  readonly target: string | null;
  /** The entry of a former build that is measured beside this one, where a scenario does that. */
  readonly former: string | null;
}

export interface SimTarget extends Target {
  totals(): Promise<Totals>;
}

/** Where a scenario happens: it starts servers, which are ended when the scenario is over. */
export interface Stage extends Meter {
  readonly settings: StageSettings;
  readonly pinning: Pinning;
  /** An empty folder of the scenario's own. */
  readonly dir: string;
  say(text: string): void;
  /** Ends with the scenario. */
  onEnd(end: () => Promise<void>): void;
  child(name: string, entry: URL, core: number | null): Promise<Child>;
  /** A server of the bench's own, on the core of what is measured, which needs no key and tells its port. */
  server(name: string, called: string, entry: URL, told?: object): Promise<Target & { readonly pid: number }>;
  bare(): Promise<Target>;
  /** @param main the entry of a build; this one's by default */
  weir(env?: Readonly<Record<string, string>>, main?: string): Promise<Weir>;
  /** The simulated model, on the generator's core. */
  sim(behaviour: Behaviour): Promise<SimTarget>;
}

export interface StageOptions {
  readonly settings: StageSettings;
  readonly pinning: Pinning;
  readonly interrupted: AbortSignal;
  readonly tell: Meter['tell'];
  readonly say: (text: string) => void;
}

/** @param undo takes what ends everything, newest last, also when a later server does not start */
export const openStage = async (options: StageOptions, undo: (() => Promise<void>)[]): Promise<Stage> => {
  const { pinning } = options;
  const dir = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  undo.push(async () => rmSync(dir, { recursive: true, force: true }));
  const child: Stage['child'] = async (name, entry, core) => {
    const started = await startChild(name, entry, core);
    undo.push(started.end);
    return started;
  };
  const generator = await child('The generator', new URL('./gen/main.ts', import.meta.url), pinning.generator);
  const server: Stage['server'] = async (name, called, entry, told = {}) => {
    const { ask, pid } = await child(called, entry, pinning.server);
    const { port } = await ask<{ port: number }>(told);
    return { name, pid, address: { host: '127.0.0.1', port }, keys: noKeys, lost: () => undefined };
  };
  let gateways = 0;
  return {
    ...options,
    dir,
    generator,
    child,
    onEnd: (end) => void undo.push(end),
    server,
    bare: () => server('hello', 'The bare server', new URL('./peers/uws-hello.ts', import.meta.url)),
    async weir(env, main) {
      const dataDir = join(dir, `weir-${++gateways}`);
      const weir = await startWeir({ dataDir, core: pinning.server, ...(env && { env }), ...(main && { main }) });
      undo.push(weir.end);
      return weir;
    },
    async sim(behaviour) {
      const sim = await child('The simulated model', new URL('./sim/main.ts', import.meta.url), pinning.generator);
      const { port } = await sim.ask<{ port: number }>({ behaviour });
      return {
        name: 'direct',
        pid: sim.pid,
        address: { host: '127.0.0.1', port },
        keys: { keys: ['direct'], zipf: 0 },
        lost: () => undefined,
        totals: async () => (await sim.ask<{ totals: Totals }>({})).totals,
      };
    },
  };
};
