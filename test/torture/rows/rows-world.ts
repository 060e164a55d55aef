import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { projections } from '../../../projections/all.ts';
import { credentialRows } from '../../../projections/credentials.ts';
import { organizationRows } from '../../../projections/organizations.ts';
import { projectRows } from '../../../projections/projects.ts';
import { allAggregates } from '../../../src/app/aggregates.ts';
import { fundsOf } from '../../../src/app/funds.ts';
import { directory } from '../../../src/data/access/directory.ts';
import { policyDirectory } from '../../../src/data/policy/in-force.ts';
import { usageSettled, usageStream } from '../../../src/domain/usage/usage-events.ts';
import type { Reactor } from '../../../src/kernel/followers/reactor.ts';
import { type ReadModels, RowsAbsent } from '../../../src/kernel/projections/read-models.ts';
import type { Recorded } from '../../../src/kernel/store/store.ts';
import { event } from '../../support/events.ts';
import { type MemoryStore, memoryStore } from '../../support/memory-store.ts';
import { settlement } from '../../usage/some-request.ts';
import { tellSomething } from '../commands.ts';
import { type Random, seeded } from '../random.ts';

/** What happened, in the order in which it did; a child makes the same log of it, place by place. */
export type World = readonly Omit<Recorded, 'position' | 'revision'>[];

const COMMANDS = 1_500;
const PART_OF_USE = 0.1;

/** Positions by count, so that the same events have the same. */
export const emptyLog = (): MemoryStore => memoryStore({ random: () => 0 });

export const happen = (store: MemoryStore, world: World): void => {
  for (const { stream, ...event } of world) store.plantAsIs(stream, [event]);
};

const worldOf = async (random: Random): Promise<World> => {
  const store = emptyLog();
  const all = allAggregates(store, { whose: () => 'ours' });
  for (let i = 0; i < COMMANDS; i++) {
    await tellSomething(all, random);
    if (random.next() > PART_OF_USE) continue;
    const used = {
      ...settlement(`req_${i}`),
      organization_id: `org_${random.between(1, 2)}`,
      micro_dollars: random.between(1, 900),
    };
    store.plant(usageStream(used.settled_at), [{ ...event(i), type: 'usage.settled', data: usageSettled([used]) }]);
  }
  return store.log.map(({ position: _, revision: __, ...event }) => event);
};

/** One world for all cycles of a seed. */
export const makeWorld = (seed: number): Promise<World> => worldOf(seeded(seed));

/** What is asked, with what is answered; `absent` of rows that are being made again. */
export type Answers = Readonly<Record<string, string>>;

export const absent = 'absent';

const answerOf = (ask: () => unknown): string => {
  try {
    return canonicalize(JSON.parse(JSON.stringify(ask() ?? null))) ?? '';
  } catch (error) {
    return error instanceof RowsAbsent ? absent : `it threw ${error instanceof Error ? error.stack : error}`;
  }
};

/** Whom and what there is to ask about: found once, in sound rows. */
export interface Questions {
  readonly digests: readonly string[];
  readonly projects: readonly (readonly [organizationId: string, projectId: string])[];
  readonly organizations: readonly string[];
}

const everything = { prefix: '', limit: Number.MAX_SAFE_INTEGER } as const;

export const questionsOf = (models: ReadModels): Questions => ({
  digests: models.range(credentialRows, everything).map(({ key }) => key),
  projects: models.range(projectRows, everything).map(({ key, row }) => [key.split(':')[0]!, row.id] as const),
  organizations: models.range(organizationRows, everything).map(({ key }) => key),
});

/** Of what two processes hold alike: V8 writes one string in two ways. */
const asText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value);

type Asked = Pick<ReadModels, 'get' | 'range'>;

/** Everything that a request is judged by, as the gateway finds it, and all rows. */
export const ask = (rows: Asked, { digests, projects, organizations }: Questions): Answers => {
  const models = { ...rows, positionOf: () => null } as unknown as ReadModels;
  const known = directory(() => models);
  const inForce = policyDirectory(() => models);
  const { balanceOf } = fundsOf(rows, new Map());
  const answers: Record<string, string> = {};
  for (const digest of digests) {
    answers[`credential ${digest}`] = answerOf(() => {
      const found = known.find(Buffer.from(digest, 'base64url').toString('latin1'));
      return found && { ...found, permissions: 'permissions' in found ? [...found.permissions] : [] };
    });
  }
  for (const [organizationId, projectId] of projects) {
    answers[`policies of ${projectId}`] = answerOf(() => {
      const all = inForce.of({ organizationId, projectId });
      return (
        all && [...all.request, ...all.response].map(({ id, version, isEnforcing }) => ({ id, version, isEnforcing }))
      );
    });
  }
  for (const organization of organizations)
    answers[`balance of ${organization}`] = answerOf(() => balanceOf(organization));
  for (const table of projections.flatMap(({ tables }) => tables)) {
    answers[`rows of ${table.name}`] = answerOf(() =>
      createHash('sha256')
        .update(JSON.stringify(rows.range(table, everything), asText))
        .digest('hex'),
    );
  }
  return answers;
};

const noted = /^project(Key)?-/;
/** Positions of the events that a noting reactor is given. */
export const dueTo = (log: readonly Recorded[]): number[] =>
  log.filter(({ stream }) => noted.test(stream)).map(({ position }) => Number(position));

/** Notes which events it is told of. */
export const noting = (note: (position: number) => void): Reactor => ({
  name: 'noting',
  version: 1,
  begins: 'at the start',
  categories: ['project', 'projectKey'],
  async react(event) {
    note(Number(event.position));
  },
});
