import fc from 'fast-check';
import { expect } from 'vitest';
import { adminPermissions } from '../../../src/domain/permissions.ts';
import type { Answer, Json } from '../ask.ts';
import { type AdminKey, type AuditEntry, hour, type Tenant } from './model.ts';
import { dataOf, gist, type Request, type World } from './world.ts';

/** Who acts: an Admin key of one of the two organizations, and what it picks, as numbers to be cut to size. */
export interface Who {
  readonly tenant: number;
  readonly key: number | null;
}

/** Something that a random administrator, the operator or time does. */
export interface Step<A> {
  readonly name: string;
  readonly args: fc.Arbitrary<A>;
  readonly run: (world: World, args: A) => Promise<void>;
}

export const command = <A>({ name, args, run }: Step<A>): fc.Arbitrary<fc.AsyncCommand<object, World>> =>
  args.map((given) => ({
    check: () => true,
    async run(_, world) {
      world.steps += 1;
      await run(world, given);
    },
    toString: () => `${name} ${JSON.stringify(given)}`,
  }));

export const who: fc.Arbitrary<Who> = fc.record({
  tenant: fc.nat(1),
  // Mostly one that may do everything.
  key: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(9) }),
});

export const tenantOf = (world: World, { tenant }: Pick<Who, 'tenant'>): Tenant => world.tenants[tenant as 0 | 1];
export const otherOf = (world: World, { tenant }: Pick<Who, 'tenant'>): Tenant => world.tenants[(1 - tenant) as 0 | 1];

/** One of these by a number of any size, or undefined where there is none. */
export const pick = <T>(all: Iterable<T>, n: number): T | undefined => {
  const list = [...all];
  return list[n % list.length];
};

const mayDoEverything = (key: AdminKey, now: number): boolean =>
  !key.isDeleted &&
  (key.expiresAt === null || key.expiresAt > now) &&
  key.permissions.length === adminPermissions.length;

export const callerOf = (world: World, chosen: Who): AdminKey => {
  const keys = [...tenantOf(world, chosen).adminKeys.values()];
  const mighty = chosen.key === null ? keys.find((key) => mayDoEverything(key, world.now)) : undefined;
  return mighty ?? (pick(keys, chosen.key ?? 0) as AdminKey);
};

/** The id of one of these, now and then of another organization's or of nothing. */
export const target = fc.record({
  n: fc.nat(20),
  from: fc.oneof(
    { weight: 12, arbitrary: fc.constant('own' as const) },
    { weight: 1, arbitrary: fc.constantFrom('foreign' as const, 'nobody' as const) },
  ),
});
export type Target = (typeof target extends fc.Arbitrary<infer T> ? T : never) & object;

export const idOf = (
  { n, from }: Target,
  own: Iterable<{ readonly id: string }>,
  foreign: Iterable<{ readonly id: string }>,
): string => (from === 'nobody' ? undefined : pick(from === 'own' ? own : foreign, n)?.id) ?? 'none_1';

/** How long a creation may be repeated. */
const keptMs = 24 * hour;

/** Few, so that some are used again, with the same body or another. */
export const idempotencyKey = fc.option(
  fc.nat(2).map((n) => `a-key-of-mine-${n}`),
  { nil: undefined, freq: 8 },
);

/** Sends, and compares with the refusal that the model foresees; null where there is nothing more to look at. */
export const expectOf = async (
  world: World,
  chosen: Who,
  request: Request,
  refusal: string | null,
): Promise<Answer | null> => {
  const tenant = tenantOf(world, chosen);
  const answer = await world.send(tenant, callerOf(world, chosen), request);
  if (!answer) return null;
  if (refusal !== null) {
    expect(gist(answer), `${request.method} ${request.path}`).toBe(refusal);
    return null;
  }
  expect(answer.status, `${answer.code} ${answer.message}`).toBeLessThan(300);
  return answer;
};

export interface Creation {
  /** The refusal by path or body, which comes before the Idempotency-Key. */
  readonly before: string | null;
  /** The refusal of a new request by the law. */
  readonly refusal: () => string | null;
  readonly hasValue: boolean;
  /** Enters the new resource into the model and says whether its answer may still be repeated. */
  readonly made: (body: Json) => {
    readonly stands: () => boolean;
    readonly type: string;
    /** Further entries of the audit log. */
    readonly also?: readonly AuditEntry[];
  };
}

/** A creation with or without an Idempotency-Key (contract I). */
export const create = (world: World, chosen: Who, request: Request, creation: Creation): Promise<void> =>
  createAs(world, tenantOf(world, chosen), callerOf(world, chosen), request, creation);

const createAs = async (
  world: World,
  tenant: Tenant,
  caller: AdminKey,
  request: Request,
  creation: Creation,
): Promise<void> => {
  const answer = await world.send(tenant, caller, request);
  if (!answer) return world.happened(tenant, []);
  if (creation.before !== null) {
    expect(gist(answer)).toBe(creation.before);
    return world.happened(tenant, []);
  }
  const scope = JSON.stringify([caller.id, request.path, request.ids, request.idempotencyKey]);
  const body = JSON.stringify(Object.entries(request.body ?? {}).sort());
  const known = request.idempotencyKey === undefined ? undefined : tenant.repeatables.get(scope);
  if (known && world.now - known.completedAt < keptMs) {
    if (known.body !== body) expect(gist(answer)).toBe('409 idempotency_key_reused header.Idempotency-Key');
    else if (!known.stands()) expect(gist(answer)).toBe('409 idempotency_result_unavailable header.Idempotency-Key');
    else {
      expect(answer.headers['Idempotent-Replayed']).toBe('true');
      expect(JSON.stringify(answer.body)).toBe(known.text);
      if (creation.hasValue) {
        return world.happened(tenant, [{ type: 'api_key.value_replayed', resource: known.id, actor: caller.id }]);
      }
    }
    return world.happened(tenant, []);
  }
  const refusal = creation.refusal();
  if (refusal !== null) {
    expect(gist(answer)).toBe(refusal);
    return world.happened(tenant, []);
  }
  expect(gist(answer)).toBe('201');
  const id = String(answer.body.id);
  const { stands, type, also = [] } = creation.made(answer.body);
  const text = JSON.stringify(answer.body);
  if (request.idempotencyKey !== undefined) {
    const again = () => createAs(world, tenant, caller, request, creation);
    tenant.repeatables.set(scope, { body, text, id, completedAt: world.now, stands, again });
  }
  await world.happened(tenant, [{ type, resource: id, actor: caller.id }, ...also]);
};

export const paging = fc.record({
  limit: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  order: fc.option(fc.constantFrom('asc' as const, 'desc' as const), { nil: undefined }),
  after: fc.option(target, { nil: undefined, freq: 2 }),
});
export type Paging = typeof paging extends fc.Arbitrary<infer T> ? T : never;

/** Somebody who has lost an answer asks again, with the same credential, key and body. */
export const repeatCreation = command({
  name: 'repeat creation',
  args: fc.record({ tenant: fc.nat(1), n: fc.nat(20) }),
  async run(world, { n, ...chosen }) {
    const known = pick(tenantOf(world, chosen).repeatables.values(), n);
    if (known && world.now - known.completedAt < keptMs) await known.again();
  },
});

interface Listing {
  readonly paging: Paging;
  readonly query?: readonly string[];
  readonly byDefault?: 'asc' | 'desc';
  /** Every object that ever was in the list, in ascending order. */
  readonly all: readonly { readonly id: string }[];
  readonly foreign: readonly { readonly id: string }[];
  readonly isShown: (id: string) => boolean;
  /** What an item has to match. */
  readonly item: (id: string) => object;
  readonly refusal: string | null;
}

/** A page of a list, from any cursor, against the model's list (contract A.2). */
export const list = async (world: World, chosen: Who, request: Request, listing: Listing): Promise<void> => {
  const { limit, order, after } = listing.paging;
  const cursor = after && idOf(after, listing.all, listing.foreign);
  const parts = [
    limit && `limit=${limit}`,
    order && `order=${order}`,
    cursor && `after=${cursor}`,
    ...(listing.query ?? []),
  ];
  const isKnown = cursor === undefined || listing.all.some(({ id }) => id === cursor);
  const refusal = listing.refusal ?? (isKnown ? null : '400 invalid_cursor query.after');
  const query = parts.filter(Boolean).join('&');
  const answer = await expectOf(world, chosen, { ...request, query }, refusal);
  if (!answer) return;
  const isDescending = (order ?? listing.byDefault ?? 'asc') === 'desc';
  const ids = listing.all.map(({ id }) => id);
  if (isDescending) ids.reverse();
  const from = cursor === undefined ? 0 : ids.indexOf(cursor) + 1;
  const rest = ids.slice(from).filter(listing.isShown);
  const page = rest.slice(0, limit ?? 20);
  const data = dataOf(answer);
  expect(data.map(({ id }) => id)).toEqual(page);
  expect(answer.body).toMatchObject({
    object: 'list',
    has_more: rest.length > page.length,
    first_id: page[0] ?? '',
    last_id: page.at(-1) ?? '',
  });
  for (const [i, id] of page.entries()) expect(data[i]).toMatchObject(listing.item(id));
};

export const seconds = (at: number): number => Math.floor(at / 1000);
