import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Contender, measureRounds } from '../measure.ts';
import { administer } from '../peers/administrator.ts';
import { fileFor, seedOrganizations, settled } from '../peers/seed.ts';
import type { Weir } from '../peers/weir.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { type ContenderResult, cpuSeries } from '../report/contender.ts';
import type { Stage } from '../stage.ts';
import { elsewhere, startEventLoad, startFraming } from './events.ts';
import { closedPlan, contender } from './plans.ts';
import { creationRequest, getRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';

/** For the keys that are created: each takes 1,000. */
const freshProjects = 10;
const crowd = { organizations: 1, projects: 1000 - freshProjects, keys: 1_000_000 - freshProjects * 1000, tier: 5 };
/** Below the most that an administrator may be allowed, 60,000 a minute. */
const pagesPerSecond = 100;
const seeding: BarRule = { id: 'seed-rate', title: 'bench seed, a million keys', unit: 'keys/s', atLeast: 10_000 };
const seedingRatio: BarRule = {
  id: 'seed-ratio',
  title: 'bench seed, keys beside appends to the empty framing with 100 in flight',
  unit: '×',
  // Where 10,000 were set, the framing took 27,000.
  atLeast: 0.37,
};
const pages: BarRule = {
  id: 'list-page',
  title: 'a page of projects or keys in an organization of a million: CPU of the server in the worst window',
  unit: 'ms',
  atMost: 2,
};
const lastPage: BarRule = { id: 'list-last', title: 'CPU of the last page beside the first', unit: '×', atMost: 1.2 };
const creation: BarRule = {
  id: 'key-creation',
  title: 'a key created, with its fsync and in the lists when it is answered: p50 for the client',
  unit: 'ms',
  atMost: 5,
};

const creationRatio: BarRule = {
  id: 'key-creation-ratio',
  title: 'a key created: the same, beside one answer of the empty framing',
  unit: '×',
  // Where 5 ms were set, one answer took 0.1 ms.
  atMost: 50,
};

interface Page {
  readonly last_id: string;
  readonly has_more: boolean;
}

/** The path of a list's last page. */
const lastOf = async (weir: Weir, key: string, path: string): Promise<string> => {
  let at = path;
  for (;;) {
    const { has_more, last_id } = await administer<Page>(weir, key, at);
    if (!has_more) return at;
    at = `${path}?after=${last_id}`;
  }
};

const idsOf = async (weir: Weir, key: string, path: string): Promise<readonly string[]> =>
  (await administer<{ data: readonly { id: string }[] }>(weir, key, path)).data.map(({ id }) => id);

const listedMs = 600_000;

/** Lists follow the log in its order: when they have the newest project, they have all before it. */
const listed = async (stage: Stage, weir: Weir, key: string, path: string, id: string): Promise<void> => {
  for (const end = performance.now() + listedMs; performance.now() < end && !stage.interrupted.aborted; ) {
    const [newest] = await idsOf(weir, key, `${path}?limit=1&order=desc`);
    if (newest === id) return;
    stage.tell('waiting for the lists to have all of it', 0.9);
    await sleep(1000);
  }
  throw new Error(`${id} was not in the lists after ${listedMs / 1000} s.`);
};

/** Measures how many appends a second the empty framing takes of this machine, for figures that were set on another. */
const framingRate = async (stage: Stage): Promise<(inFlight: number) => Promise<number>> => {
  const framing = await startFraming(stage, 1);
  const load = await startEventLoad(stage);
  return async (inFlight) => {
    const work = { is: 'append', inFlight, perAppend: 1 } as const;
    await load.ask(framing, work, 2);
    const { done, seconds } = await load.ask(framing, work, stage.settings.seconds);
    return done / seconds;
  };
};

/** Milliseconds of the server per request, in the window in which they were most. */
const worstWindow = (result: ContenderResult | undefined): number | undefined => {
  const micros = cpuSeries(result?.windows ?? []);
  return micros?.length ? Math.max(...micros) / 1000 : undefined;
};

const worst = (values: readonly (number | undefined)[]): number | null =>
  values.some((value) => value === undefined) ? null : Math.max(...(values as number[]));

/** An administrator's day in the largest organization that the bars speak of. */
export const admin1e6: Scenario = {
  id: 'admin-1e6',
  title: 'Administration of an organization with a million keys',
  about: [
    'An organization of 1,000 projects with 1,000 keys each, made by `npm run bench -- seed` beside the running gateway; when all of them are in the lists, and the gateway has nothing more to do with them, pages of 20 are read and keys are created, one request at a time and below every limit.',
    "Of a page it is the server's CPU that counts, of a key the time that the client waits for it.",
  ],
  async run(stage) {
    const measureFraming = await framingRate(stage);
    const before = await measureFraming(100);
    const one = await measureFraming(1);
    const most = '60000';
    const weir = await stage.weir({ ADMIN_CREDENTIAL_RPM: most, ADMIN_ORGANIZATION_RPM: most });
    const [seeded] = await seedOrganizations(stage, weir, crowd, join(weir.dataDir, 'keys.ndjson'));
    const framing = (before + (await measureFraming(100))) / 2;
    if (seeded === undefined || stage.interrupted.aborted) return {};
    const key = seeded.admin_api_key;

    const root = '/v1/organization/projects';
    const fresh: string[] = [];
    for (let n = 0; n < freshProjects; n++)
      fresh.push((await administer<{ id: string }>(weir, key, root, { name: `bench ${n}` })).id);
    await listed(stage, weir, key, root, fresh.at(-1)!);
    await settled(stage, weir);
    const [full = ''] = await idsOf(weir, key, `${root}?limit=1&order=asc`);
    const keysOf = `${root}/${full}/api_keys`;
    const once = fileFor(stage, 'idempotency-keys', Array.from({ length: 100_000 }, () => randomUUID()).join('\n'));

    const reading = (path: string) =>
      closedPlan(stage, getRequest(path), {
        connections: 1,
        arrivals: { is: 'constant', rate: pagesPerSecond },
      });
    const asked = { ...weir, keys: { keys: [key], zipf: 0 } };
    const lists = { projects: root, keys: keysOf };
    const contenders: Contender[] = [];
    for (const [name, path] of Object.entries(lists)) {
      const first = `${name}-first`;
      const last = await lastOf(weir, key, path);
      contenders.push(
        contender(first, `${name}, first page`, asked, reading(path), null, 'times'),
        contender(`${name}-last`, `${name}, last page`, asked, reading(last), first, 'times'),
      );
    }
    const creations = fresh.map((id) => creationRequest(`${root}/${id}/api_keys`, key));
    const creating = closedPlan(stage, creations[0]!, { requests: creations, connections: 1, expected: 201 });
    const created = { ...weir, keys: { keys: { file: once }, zipf: 0 } };
    contenders.push(contender('creation', 'keys created', created, creating, null, 'times'));

    return {
      ...(await measureRounds(stage, contenders, stage.settings)),
      rounds: stage.settings.rounds,
      notes: [`the empty framing took ${Math.round(framing).toLocaleString('en-US')} appends a second`],
      barsOf: (results: ReadonlyMap<string, ContenderResult>) => {
        const of = (name: string) => results.get(name);
        const all = Object.keys(lists).flatMap((name) => [of(`${name}-first`), of(`${name}-last`)]);
        const ratios = Object.keys(lists).map((name) => of(`${name}-last`)?.cpuRatio?.median);
        const made = of('creation')?.latency.service?.p50 ?? null;
        return [
          barOf(seeding, seeded.keys_per_second, elsewhere),
          barOf(seedingRatio, seeded.keys_per_second / framing),
          barOf(pages, worst(all.map(worstWindow))),
          barOf(lastPage, worst(ratios)),
          barOf(creation, made, elsewhere),
          barOf(creationRatio, made && (made * one) / 1000),
        ];
      },
    };
  },
};
