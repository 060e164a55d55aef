// Lane: middle: it runs at length
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { effectiveIn } from '../../src/audit/effective.ts';
import { NoHistory, standingAt } from '../../src/audit/history.ts';
import { keysAt } from '../../src/audit/keys-at.ts';
import { pastOf, standingOf } from '../../src/audit/past.ts';
import { adminKeySteps } from '../admin/administrators/admin-keys.ts';
import { keySteps } from '../admin/administrators/keys.ts';
import {
  type AdminKey,
  type Key,
  type Project,
  stateOf,
  statusOf,
  type Tenant,
} from '../admin/administrators/model.ts';
import { organizationSteps } from '../admin/administrators/organizations.ts';
import { policySteps } from '../admin/administrators/policies.ts';
import { projectSteps } from '../admin/administrators/projects.ts';
import { World } from '../admin/administrators/world.ts';
import { seed } from '../support/seed.ts';

/** How many positions to travel to: some in the ordinary tests, 10,000 and more where AUDIT_POSITIONS says so. */
const wanted = Number(process.env.AUDIT_POSITIONS ?? 500);
/** Steps of one history; all positions in it are asked when it is over. */
const steps = 200;
/** Positions asked of one history. */
const asked = 100;

const prefixes = ['org_', 'proj_', 'key_', 'akey_', 'pol_'];

type Live = Readonly<Record<string, unknown>>;

/** What of one organization and all that it has was true, by the model that the live answers are held against. */
const seen = (tenant: Tenant, now: number): ReadonlyMap<string, Live> => {
  const all = new Map<string, Live>();
  const held = (status: string): string =>
    status === 'active' && tenant.status === 'suspended' ? 'suspended' : status;
  all.set(tenant.id, { effective: tenant.status, name: tenant.name, lifetimePaid: tenant.paid });
  const ofKey = (key: Key, project: Project): string => held(statusOf(key, project, now));
  for (const project of tenant.projects.values()) {
    const { name, archivedAt } = project;
    const keys = [...project.keys.values()];
    const usable = keys.filter((key) => ofKey(key, project) === 'active').length;
    const effective = held(archivedAt === null ? 'active' : 'archived');
    all.set(project.id, { effective, name, archivedAt, usable_keys: usable });
    for (const key of keys) {
      const { name: called, permissions, expiresAt } = key;
      all.set(key.id, { effective: ofKey(key, project), name: called, permissions: [...permissions], expiresAt });
    }
  }
  const ofAdminKey = ({ isDeleted, expiresAt }: AdminKey): string => {
    if (isDeleted) return 'deleted';
    return expiresAt !== null && expiresAt <= now ? 'expired' : held('active');
  };
  for (const key of tenant.adminKeys.values()) {
    all.set(key.id, { effective: ofAdminKey(key), name: key.name, expiresAt: key.expiresAt });
  }
  for (const policy of tenant.policies.values()) {
    const { name, description, revision, isDeleted } = policy;
    const effective = isDeleted ? 'deleted' : stateOf(policy);
    // Nobody sees the revision of one that is deleted.
    all.set(policy.id, { effective, name, description, ...(!isDeleted && { revision }) });
  }
  return all;
};

interface Position {
  readonly at: number;
  readonly tenants: readonly ReadonlyMap<string, Live>[];
}

/** The administrators' steps, each at a time of its own, and what was true after it. */
const recording = (positions: Position[]) =>
  fc // Keys have the most states, and the most that decides on them.
    .oneof(...projectSteps, ...keySteps, ...keySteps, ...adminKeySteps, ...policySteps, ...organizationSteps)
    .map((step) => ({
      ...step,
      async run(model: object, world: World) {
        await step.run(model, world);
        positions.push({ at: world.now, tenants: world.tenants.map((tenant) => seen(tenant, world.now)) });
        world.advance(1);
      },
    }));

/** What a replay says of the same. */
const replayed = async (world: World, id: string, at: number, live: Live): Promise<Live> => {
  const { store } = world.stage;
  const past = pastOf(store);
  const found = await standingOf(past, id, { time: at });
  const { status: effective, usable_keys } = await effectiveIn(past, found, at);
  const data = { ...(found.state.data as Live), effective, usable_keys };
  return Object.fromEntries(Object.keys(live).map((field) => [field, data[field as keyof typeof data]]));
};

/** Which keys of a project could act, by the same record. */
const expectKeys = async (world: World, projectId: string, { at, tenants }: Position, of: number): Promise<void> => {
  const past = pastOf(world.stage.store);
  const keys = await keysAt(past, standingAt(await past.life(projectId), { time: at }), at);
  const tenant = tenants[of] as ReadonlyMap<string, Live>;
  const isSuspended = [...tenant].some(([id, live]) => id.startsWith('org_') && live.effective === 'suspended');
  for (const { id, key, acts, effective } of keys) {
    const live = tenant.get(id);
    if (key === null || live === undefined) {
      expect([id, key, live]).toEqual([id, null, undefined]);
      continue;
    }
    const reads = (live.permissions as string[]).some((permission) => permission.endsWith(':read'));
    const canOnlyRead = isSuspended && live.effective === 'suspended' && key.state.status === 'active' && reads;
    expect([id, effective.status]).toEqual([id, live.effective]);
    expect([id, acts]).toEqual([id, live.effective === 'active' ? 'yes' : canOnlyRead ? 'reading' : 'no']);
  }
  const usable = keys.filter(({ acts }) => acts === 'yes').length;
  expect(usable).toBe(tenant.get(projectId)?.effective === 'active' ? tenant.get(projectId)?.usable_keys : 0);
};

test(
  'at random positions of random administrations a replay tells what was live then, effective state included',
  async () => {
    const world = await World.open();
    const kinds = new Map<string, number>();
    let [travelled, unborn] = [0, 0];
    try {
      // Of each kind of thing more than one state is to be met, which chance alone does not promise of organizations.
      const varied = () =>
        prefixes.every((prefix) => [...kinds.keys()].filter((met) => met.startsWith(prefix)).length > 1);
      for (let round = 0; travelled < wanted || (round < 100 && !varied()); round++) {
        await world.begin();
        const positions: Position[] = [];
        const history = fc.commands([recording(positions)] as never, { maxCommands: steps, size: 'max' });
        await fc.assert(
          fc.asyncProperty(history, (commands) =>
            fc.asyncModelRun(() => ({ model: {}, real: world }), commands as Iterable<fc.AsyncCommand<object, World>>),
          ),
          { numRuns: 1, endOnFailure: true, seed: seed + round },
        );
        const last = positions.at(-1);
        if (!last) continue;
        const nth = fc.nat(positions.length - 1);
        const pick = fc.tuple(nth, nth, fc.nat(1), fc.constantFrom(...prefixes), fc.nat());
        const picks = fc.sample(pick, { numRuns: asked, seed: seed + round });
        for (const [n, m, of, prefix, which] of picks) {
          // The later of two: at the beginning there is little.
          const position = positions[Math.max(n, m)] as Position;
          const all = [...(last.tenants[of]?.keys() ?? [])].filter((each) => each.startsWith(prefix));
          const id = all[which % all.length];
          if (id === undefined) continue;
          const live = position.tenants[of]?.get(id);
          travelled += 1;
          if (live === undefined) {
            unborn += 1;
            const past = pastOf(world.stage.store);
            await expect(standingOf(past, id, { time: position.at })).rejects.toBeInstanceOf(NoHistory);
            continue;
          }
          expect({ id, ...(await replayed(world, id, position.at, live)) }).toEqual({ id, ...live });
          if (id.startsWith('proj_')) await expectKeys(world, id, position, of);
          const kind = `${prefix} ${String(live.effective)}`;
          kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        }
      }
      process.stdout.write(
        `${travelled} positions, ${unborn} of them before a beginning: ${JSON.stringify([...kinds])}\n`,
      );
      expect(varied()).toBe(true);
    } finally {
      await world.close();
    }
  },
  Math.max(60_000, wanted * 100),
);
