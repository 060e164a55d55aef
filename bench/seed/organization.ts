import { randomUUID } from 'node:crypto';
import { credentialOf } from '../../src/admin/credential.ts';
import type { Clock } from '../../src/clock.ts';
import { adminKey } from '../../src/domain/key/admin-key.ts';
import { projectKey } from '../../src/domain/key/project-key.ts';
import { organization } from '../../src/domain/organization/organization.ts';
import { type Tier, tiers } from '../../src/domain/organization/tiers.ts';
import { adminPermissions, projectPermissions } from '../../src/domain/permissions.ts';
import { maxLiveKeys, project } from '../../src/domain/project/project.ts';
import type { Archive } from '../../src/eventstoredb/archive.ts';
import type { RawEvent } from '../../src/eventstoredb/client/raw-event.ts';
import { newId, newToken } from '../../src/ids.ts';
import type { Aggregate, Decisions, DomainEvent, State } from '../../src/kernel/aggregate/aggregate.ts';
import { chained, noStream } from '../../src/kernel/aggregate/chained.ts';
import { compile } from '../../src/kernel/aggregate/chart.ts';
import type { CommandInput } from '../../src/kernel/commands/actor.ts';
import type { Actor } from '../../src/kernel/store/store.ts';
import type { Secrets } from '../../src/secrets/master-secrets.ts';

/** How large an organization is to be. */
export interface SeedPlan {
  readonly name: string;
  readonly projects: number;
  /** Of all projects together, spread evenly. */
  readonly keys: number;
  readonly tier: Tier;
}

/** A key as it goes into the file. */
export interface SeededKey {
  readonly id: string;
  readonly project_id: string;
  readonly value: string;
}

export interface SeedTools {
  readonly archive: Archive;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly actor: Actor;
  /** Told of the organization before it is made. */
  readonly begins: (organizationId: string) => Promise<void>;
  /** Told of each key once it is in the store. Its promise holds back the keys that follow. */
  readonly made: (key: SeededKey) => Promise<void> | undefined;
  /** From then on nothing new is begun. */
  readonly stop: AbortSignal;
}

/** Appends under way at once: enough to fill the store's group commits. */
const lanes = 256;

/** Keys of each project, the first ones taking what does not divide. */
export const spread = (keys: number, projects: number): number[] =>
  Array.from({ length: projects }, (_, i) => Math.floor(keys / projects) + (i < keys % projects ? 1 : 0));

export const mostKeys = (projects: number): number => projects * maxLiveKeys;

/** A stream that is begun: what the law makes of one command after another, to be written in one append. */
class SeedStream<D extends object, F extends DomainEvent, C extends Decisions<D, F>> {
  readonly events: F[] = [];
  #state: State<D>;
  readonly #aggregate: Aggregate<D, F, C>;
  readonly #chart: ReturnType<typeof compile<D, F>>;

  constructor(aggregate: Aggregate<D, F, C>) {
    this.#aggregate = aggregate;
    this.#chart = compile(aggregate);
    this.#state = this.#chart.initial;
  }

  /** What a command would lead to now; nothing comes of it. */
  decide<K extends keyof C & string>(command: K, input: CommandInput<C, K>): readonly F[] {
    return this.#aggregate.decide[command]!(this.#state, input);
  }

  dispatch<K extends keyof C & string>(command: K, input: CommandInput<C, K>): this {
    for (const event of this.decide(command, input)) {
      this.#state = this.#chart.step(this.#state, event);
      this.events.push(event);
    }
    return this;
  }
}

/**
 * An organization full of keys, made of the events that its administrators' commands would have led to. The store is told
 * nothing that the law did not decide; only the order of a million commands is chosen so that their appends overlap.
 */
export const seed = async (plan: SeedPlan, tools: SeedTools) => {
  const { archive, secrets, clock, actor, begins, made, stop } = tools;
  const runId = randomUUID();

  const write = async (
    category: string,
    id: string,
    version: number,
    events: readonly DomainEvent[],
  ): Promise<void> => {
    const stream = `${category}-${id}`;
    const at = clock.wall();
    const metadata = { at, actor, $correlationId: runId, $causationId: runId, v: version };
    const begun = events.map(({ type, ...data }) => ({ id: randomUUID(), type, data, metadata }));
    const records = chained(stream, noStream, begun).map(
      (recorded): RawEvent => ({
        ...recorded,
        revision: BigInt(recorded.revision),
        position: 0n,
        created: 0,
        isJson: true,
        data: Buffer.from(JSON.stringify(recorded.data)),
        metadata: Buffer.from(JSON.stringify(recorded.metadata)),
      }),
    );
    const answer = await archive.append({ stream, expected: -1n, events: records });
    if (answer.is !== 'written') throw new Error(`The store did not take ${stream}: ${answer.is}.`);
  };
  const writeSeedStream = <D extends object, F extends DomainEvent, C extends Decisions<D, F>>(
    aggregate: Aggregate<D, F, C>,
    id: string,
    seedStream: SeedStream<D, F, C>,
  ): Promise<void> => write(aggregate.category, id, aggregate.version, seedStream.events);

  const organizationId = newId('org', clock);
  await begins(organizationId);
  const adminKeyId = newId('akey', clock);
  const adminValue = newToken('a');
  const all = { permissions: adminPermissions, expiresAt: null };
  const begun = new SeedStream(organization).dispatch('create', { name: plan.name, at: clock.wall() });
  const price = tiers[plan.tier].paid * 1_000_000;
  if (price > 0) begun.dispatch('topUp', { amount: price, reference: 'seed' });
  await writeSeedStream(organization, organizationId, begun.dispatch('issueAdminKey', { keyId: adminKeyId, ...all }));
  const admin = { organizationId, name: 'Admin key', ...all, ...credentialOf(secrets, adminValue), at: clock.wall() };
  await writeSeedStream(adminKey, adminKeyId, new SeedStream(adminKey).dispatch('create', admin));

  /** Makes a project and admits its keys, in one append. Their number was checked: the law would count them one by one. */
  const makeProject = async (number: number, keys: number): Promise<{ id: string; keyIds: string[] }> => {
    const id = newId('proj', clock);
    const keyIds = Array.from({ length: keys }, () => newId('key', clock));
    const input = { organizationId, name: `Project ${number + 1}`, at: clock.wall() };
    const created = new SeedStream(project).dispatch('create', input);
    const admissions = keyIds.flatMap((keyId) => created.decide('issueKey', { keyId }));
    await write(project.category, id, project.version, [...created.events, ...admissions]);
    return { id, keyIds };
  };

  const noKey = new SeedStream(projectKey);
  let number = 0;
  const makeKey = async (projectId: string, id: string): Promise<void> => {
    const value = newToken('p');
    number += 1;
    const events = noKey.decide('create', {
      organizationId,
      projectId,
      name: `Key ${number}`,
      permissions: projectPermissions,
      expiresAt: null,
      ...credentialOf(secrets, value),
      at: clock.wall(),
    });
    await write(projectKey.category, id, projectKey.version, events);
    await made({ id, project_id: projectId, value });
  };

  let failure: { readonly error: unknown } | undefined;
  const isOver = (): boolean => stop.aborted || failure !== undefined;
  async function* keysToMake(): AsyncGenerator<readonly [projectId: string, keyId: string]> {
    const sizes = spread(plan.keys, plan.projects);
    let next: ReturnType<typeof makeProject> | undefined;
    for (const [i, size] of sizes.entries()) {
      const { id, keyIds } = await (next ?? makeProject(i, size));
      const following = sizes[i + 1];
      // The next project is on its way to the disk while this one's keys are.
      next = following === undefined || isOver() ? undefined : makeProject(i + 1, following);
      next?.catch(() => {});
      for (const keyId of keyIds) {
        if (isOver()) return;
        yield [id, keyId];
      }
      if (isOver()) return;
    }
  }

  const work = keysToMake();
  const lane = async (): Promise<void> => {
    try {
      for (let next = await work.next(); !next.done; next = await work.next()) await makeKey(...next.value);
    } catch (error) {
      failure ??= { error };
    }
  };
  // Each lane ends what it has begun, whatever happens in another.
  await Promise.all(Array.from({ length: lanes }, lane));
  if (failure) throw failure.error;
  return { organizationId, adminKeyId, adminValue };
};
