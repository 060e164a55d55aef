import { plainNode } from '../support/shared-store.ts';
import { torturedByBackups } from './backup.ts';
import { torturedByTheClock } from './clock.ts';
import { torturedByLostConnections } from './connections.ts';
import { torturedByDamage } from './corruption.ts';
import { torturedByFullDisks } from './disk-full.ts';
import { complain, type Figures, noFigures, type Plan, type Torture } from './figures.ts';
import { torturedByForgetting } from './forgetting.ts';
import { torturedAtTheFront } from './front/front.ts';
import { torturedByIoErrors } from './io-error.ts';
import { torturedByKills } from './kill.ts';
import { torturedByDisconnects } from './models/disconnects.ts';
import { torturedByDrains } from './models/drain.ts';
import { torturedByStorms } from './models/storm.ts';
import { torturedByUpstreamFaults } from './models/upstream-faults.ts';
import { torturedByNamespaces } from './namespaces.ts';
import { torturedByPowerCuts } from './power.ts';
import { torturedByRebuilds } from './projections.ts';
import { torturedByRepeats } from './repeats.ts';
import { torturedByHeldRequests } from './requests-at-revocation.ts';
import { torturedByDamagedRows } from './rows/damaged-rows.ts';
import { torturedByChance } from './simulation.ts';
import { torturedByClusterFaults } from './soak.ts';
import { torturedByTracing } from './sync-order.ts';
import { torturedByTornCommits } from './torn.ts';
import { torturedByDeafReaders } from './unread.ts';

/** One torture, and how much of it there is. */
export interface Kind {
  readonly id: string;
  readonly title: string;
  /** What is counted. */
  readonly unit: string;
  readonly torture: Torture;
  /** How much in `npm run test:rest`, how much of the canary, and how much in `npm run torture` unless told otherwise. */
  readonly counts: { readonly short: number; readonly canary: number; readonly long: number };
  /** Each cycle has a seed of its own and can be repeated by its number; else one run is one story. */
  readonly isRepeatable: boolean;
  /** Why it cannot be done to a store that is not ours; undefined where it can. */
  readonly cannotAt: (url: string) => string | undefined;
}

const anyStore = () => undefined;
const own = (why: string) => () => why;
const plainStore = (url: string) =>
  plainNode(url) === undefined ? 'it stands between its clients and one node without TLS and user' : undefined;
const itsFiles = own('it needs the files and the process of the store');

const kind = (
  id: string,
  title: string,
  unit: string,
  torture: Torture,
  [short, canary, long]: readonly [short: number, canary: number, long: number],
  cannotAt: Kind['cannotAt'],
  isRepeatable = true,
): Kind => ({ id, title, unit, torture, counts: { short, canary, long }, isRepeatable, cannotAt });

export const onDisk: readonly Kind[] = [
  kind('D1', 'kill -9 at any moment', 'kills', torturedByKills, [3, 1, 1000], itsFiles),
  kind('D2', 'power cut', 'cuts', torturedByPowerCuts, [3, 1, 100], itsFiles),
  kind(
    'D3',
    'fdatasync before each answer, by strace',
    'appends',
    torturedByTracing,
    [150, 20, 10_000],
    itsFiles,
    false,
  ),
  kind('D4', 'the k-th fdatasync fails', 'values of k', torturedByIoErrors, [4, 1, 100], itsFiles),
  kind('D5', 'full disk', 'fillings', torturedByFullDisks, [1, 1, 10], itsFiles),
  kind('D6', 'damaged file', 'seeds', torturedByDamage, [24, 8, 1000], itsFiles),
  kind('D7', 'torn commit', 'images', torturedByTornCommits, [100, 30, 20_000], itsFiles),
  kind(
    'ROWS',
    'damaged read models',
    'seeds',
    torturedByDamagedRows,
    [50, 25, 1000],
    own('it is about what is computed from the events'),
  ),
  kind('D15', 'opened from another PID namespace', 'holders', torturedByNamespaces, [2, 1, 100], itsFiles),
];

export const inTraffic: readonly Kind[] = [
  kind('D8', 'clock jumps', 'jumps', torturedByTheClock, [25, 10, 1000], own('it moves the clock of the store'), false),
  kind(
    'D9',
    'lost and half-open connections',
    'reconnects',
    torturedByLostConnections,
    [30, 10, 1000],
    plainStore,
    false,
  ),
  kind('D10', 'live rows = rebuilt = copy and tail', 'rebuilds', torturedByRebuilds, [2, 1, 100], itsFiles),
  kind('D11', 'repeated appends', 'of one append', torturedByRepeats, [500, 20, 10_000], anyStore, false),
  kind(
    'D13',
    'simulated faults, by seed',
    'histories',
    torturedByChance,
    [150, 20, 10_000],
    own('its store is in memory'),
  ),
  kind('D14', 'backup during writes, and restore', 'backups', torturedByBackups, [3, 2, 100], itsFiles, false),
];

export const inGateway: readonly Kind[] = [
  kind('G5', 'kill -9 at 90 % of a rate limit', 'kills', torturedByForgetting, [2, 1, 200], anyStore),
  kind('H5', 'readers that never read', 'connections', torturedByDeafReaders, [4, 4, 100], anyStore, false),
  kind('K6', 'held requests at revocation', 'held requests', torturedByHeldRequests, [30, 10, 5000], anyStore),
];

const anyStoreWill = own('it is about models, and any store will do');

export const atModels: readonly Kind[] = [
  kind('G1', 'providers that fail', 'requests', torturedByUpstreamFaults, [300, 100, 20_000], anyStoreWill),
  kind('G2', 'clients that leave', 'requests', torturedByDisconnects, [400, 100, 10_000], anyStoreWill, false),
  kind('G10', 'every provider fails', 'seconds', torturedByStorms, [4, 4, 60], anyStoreWill, false),
  kind('G12', 'SIGTERM under load', 'ends', torturedByDrains, [3, 1, 100], anyStoreWill),
];

export const atFront: readonly Kind[] = [
  kind(
    'FRONT',
    'clients that pipeline, break off and never read',
    'connections',
    torturedAtTheFront,
    [1_500, 500, 100_000],
    anyStoreWill,
    false,
  ),
];

export const onCluster: readonly Kind[] = [
  kind('C1', 'a fault every 10 s under two gateways', 'faults', torturedByClusterFaults, [5, 1, 60], plainStore, false),
];

export const tortures: readonly Kind[] = [...onDisk, ...inTraffic, ...inGateway, ...atModels, ...atFront, ...onCluster];

/** Runs one torture to its end. What stops it is a fault as well. */
export async function tortured({ torture }: Kind, plan: Plan, figures: Figures = noFigures()): Promise<Figures> {
  try {
    await torture(plan, figures);
  } catch (error) {
    complain(figures, `it has stopped: ${error instanceof Error ? error.stack : error}`);
  }
  return figures;
}

/** What to type to see a failure again. */
export function repetition({ id, isRepeatable }: Kind, { count, seed }: Plan, { firstWrong }: Figures): string {
  return isRepeatable && firstWrong !== undefined
    ? `npm run torture -- ${id}=1 --seed ${seed} --from ${firstWrong}`
    : `npm run torture -- ${id}=${count} --seed ${seed}`;
}
