import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { clusterOf } from '../support/cluster.ts';
import { plainNode } from '../support/shared-store.ts';
import { complain, type Figures, type Plan } from './figures.ts';
import { type Gateway, inStore, newAdminKey, startGateway, untilKnown, withoutLimits } from './gateway.ts';
import { seeded } from './random.ts';
import { Scene, type Store } from './scene.ts';
import { Clients, Ledger } from './soak-clients.ts';
import { answersLost, type Fault, faultsOf, type Stage } from './soak-faults.ts';
import { differences, endOf, judgeLists, judgeLog, listsOf } from './soak-judge.ts';
import { Site } from './soak-site.ts';

const forgetful = fileURLToPath(new URL('forgetful-appends.mjs', import.meta.url));
const administrators = 4;
const usersEach = 2;
/** A fault so often; the short form has less time. */
const periodMs = { long: 10_000, short: 4_000 } as const;
const longFrom = 30;
/** Of its period a fault lasts this share. */
const lasts = [0.1, 0.6] as const;
/** What does not heal within this time does not heal. */
const healsMs = 30_000;

/** The store behind the members, a process of ours. */
const ownStore = async (scene: Scene) => {
  const dir = scene.dir();
  let store: Store = await scene.start(dir);
  return {
    get endpoint() {
      return store.endpoint;
    },
    freeze: () => void store.process.kill('SIGSTOP'),
    thaw: () => void store.process.kill('SIGCONT'),
    async restart(): Promise<string> {
      await store.kill();
      store = await scene.start(dir);
      return store.endpoint;
    },
  };
};

/** A gateway that prefers the leader and one that prefers followers, with the secrets of both in one folder. */
const gatewaysOn = async (
  scene: Scene,
  url: string,
  more: Readonly<Record<string, string>>,
  figures: Figures,
): Promise<[Site, Site]> => {
  const SECRETS_DIR = join(scene.dir(), 'secrets');
  const env = { ...withoutLimits, TRUSTED_PROXIES: '127.0.0.1', SECRETS_DIR, ...more };
  const start = (preference: string) => {
    const EVENTSTORE_URL = url.replace('nodePreference=leader', `nodePreference=${preference}`);
    return startGateway(scene, join(scene.dir(), 'data'), { ...env, EVENTSTORE_URL });
  };
  const gateways = [await start('leader'), await start('follower')] as const;
  const adminKey = await newAdminKey({ ...env, DATA_DIR: join(scene.dir(), 'data'), EVENTSTORE_URL: url });
  const siteAt = async (name: string, gateway: Gateway): Promise<Site> => {
    await untilKnown(gateway, '/v1/organization/projects', adminKey);
    const site = new Site(name, gateway.baseUrl, adminKey, figures);
    gateway.onEnd((words) => {
      site.isDown = true;
      complain(figures, `${name} has ended: ${words}`);
    });
    return site;
  };
  return [await siteAt('one', gateways[0]), await siteAt('other', gateways[1])];
};

/** Strikes, and tells how long after the cluster could take commands again each gateway had acknowledged one. */
const strike = async (fault: Fault, stage: Stage, lastsMs: number, sites: readonly Site[], figures: Figures) => {
  let again: Promise<number> | undefined;
  await fault.strike(stage, lastsMs, () => {
    const from = performance.now();
    again = Promise.all(sites.map((site) => site.nextCommand(healsMs))).then((taken) => {
      for (const [index, was] of taken.entries())
        if (!was)
          complain(figures, `${fault.name}: ${sites[index]!.name} took no command for ${healsMs} ms afterwards`);
      return performance.now() - from;
    });
  });
  return again!;
};

/** Each kind of fault with the longest time until both gateways took commands again. */
const inWords = (times: ReadonlyMap<string, readonly number[]>): string =>
  [...times].map(([name, all]) => `${name} ${seconds(Math.max(...all))}`).join(', ');
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** A client that stops is a fault; the others go on. */
const going = (figures: Figures, ...clients: Promise<void>[]): Promise<unknown> =>
  Promise.all(
    clients.map((client) =>
      client.catch((error: Error) => complain(figures, `a client has stopped: ${error.stack} ${error.cause ?? ''}`)),
    ),
  );

/** Lists that are the same at both, within the time that there is; null if a gateway has none to show. */
const settled = async (sites: readonly [Site, Site], figures: Figures, untilMs: number) => {
  for (;;) {
    const isOver = performance.now() > untilMs;
    try {
      const [one, other] = [await listsOf(sites[0]), await listsOf(sites[1])];
      const unequal = differences(one, other);
      if (unequal.length === 0 || isOver) {
        for (const path of unequal) complain(figures, `the gateways differ in ${path}`);
        return [one, other] as const;
      }
    } catch (error) {
      // Rows that are made again are not listed meanwhile.
      if (isOver) {
        complain(figures, (error as Error).message);
        return null;
      }
    }
    await wait(500);
  }
};

/**
 * C1: two gateways on a cluster of three, which is struck every ten seconds: in turn its leader dies, freezes or changes,
 * followers freeze, there is no quorum, appends or their answers get lost, connections are cut, all nodes go and come
 * back. Administrators create, rename and revoke at both, with the same Idempotency-Key again after each 503, and users of
 * the keys ask models all the time. `count` is the number of faults. The canary's gateways repeat appends so that the
 * store cannot know them.
 */
export async function torturedByClusterFaults(
  { count, seed, canary = false, store: elsewhere }: Plan,
  figures: Figures,
): Promise<void> {
  const random = seeded(seed);
  const scene = new Scene();
  try {
    const store = elsewhere === undefined ? await ownStore(scene) : undefined;
    const endpoint = () => elsewhere ?? store!.endpoint;
    const before = await endOf(scene.connect(endpoint()));
    const cluster = await clusterOf(store?.endpoint ?? plainNode(elsewhere!)!);
    scene.later(() => cluster.close());
    const more = { ...inStore(elsewhere), ...(canary && { NODE_OPTIONS: `--import=${forgetful}` }) };
    const sites = await gatewaysOn(scene, cluster.url, more, figures);
    const ledger = new Ledger();
    const clients = new Clients(ledger, sites, seeded(seed, 1), figures);
    const administrating = going(figures, ...Array.from({ length: administrators }, () => clients.administrate()));
    const using = going(
      figures,
      ...sites.flatMap((site) => [
        ...Array.from({ length: usersEach }, () => clients.infer(site)),
        clients.presentEnded(site),
        site.keepAsking(() => clients.isOver),
      ]),
    );
    const times = new Map<string, number[]>();
    const stage: Stage = { cluster, leader: 0, random, store };
    const period = count < longFrom ? periodMs.short : periodMs.long;
    const faults = canary
      ? Array.from({ length: count }, () => answersLost)
      : faultsOf(count, random, store !== undefined);
    for (const fault of faults) {
      scene.goOn();
      if (sites.some(({ isDown }) => isDown)) throw new Error('nobody is there any more to go on with');
      const next = performance.now() + period;
      const took = await strike(fault, stage, random.between(lasts[0] * period, lasts[1] * period), sites, figures);
      times.set(fault.name, [...(times.get(fault.name) ?? []), took]);
      figures.cycles++;
      await wait(Math.max(0, next - performance.now()));
    }
    clients.isEnough = true;
    clients.givenUpAt = performance.now() + (canary ? 3_000 : healsMs);
    await administrating;
    // After the last fault each takes commands.
    await going(figures, ...sites.map((site) => clients.createAndRevoke(site)));
    clients.isOver = true;
    await using;
    for (const site of sites) for (const key of site.dead) await clients.expectEnded(site, key);
    const lists = await settled(sites, figures, clients.givenUpAt);
    if (lists !== null) for (const [index, site] of sites.entries()) judgeLists(site, lists[index]!, ledger, figures);
    await judgeLog(scene.connect(endpoint()), before, ledger, figures);
    figures.acknowledged = ledger.acknowledged;
    const { inferences, refused, repeated, refusedAfterMs, knownAfterMs } = ledger;
    const longest = Math.max(...sites.map(({ longestCommandMs }) => longestCommandMs));
    figures.notes.push(
      `${inferences} inference answers; ${refused} commands refused and sent again, ${repeated} repeated after their answer; the longest took ${seconds(longest)}`,
      `a revoked key was refused at the other gateway within ${seconds(refusedAfterMs)}, a new one worked there within ${seconds(knownAfterMs)}`,
      `commands again after: ${inWords(times)}`,
    );
  } finally {
    await scene.end();
  }
}
