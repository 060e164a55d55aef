import canonicalize from 'canonicalize';
import { projections } from '../../projections/all.ts';
import type { Aggregates } from '../../src/admin/command.ts';
import { plans } from '../../src/domain/organization/billing.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import type { ReadModels } from '../../src/kernel/projections/projection.ts';
import type { Random } from './random.ts';

const context: Context = { actor: { type: 'system', id: 'torture' } };
const terms = (random: Random) =>
  ({
    rule: `contains("${random.between(0, 9)}")`,
    direction: random.pick(['request', 'response'] as const),
    mode: random.pick(['monitoring', 'enforcing'] as const),
    scope: 'organization',
    projectIds: [],
    thresholdBasisPoints: random.between(1, 100) * 100,
  }) as const;

/** As a digest is kept: the directory finds its owner by the bytes. */
const digestOf = (id: string): string => Buffer.from(`digest of ${id}`).toString('base64url');

const keyFields = (random: Random, digest: string) => ({
  name: `key ${random.between(0, 99)}`,
  permissions: ['models:read', 'messages:write'].slice(random.between(0, 1)),
  expiresAt: random.next() < 0.3 ? 5_000 : null,
  digest,
  pepperId: 'p1',
  redactedValue: 'gwp_abc...wxyz',
  at: 1,
});

/**
 * Tells the aggregates something, at random and mostly in order: organizations, their money and Admin keys, projects, their
 * keys, policies, OAuth clients and their tokens. What the law refuses is refused.
 */
export const tellSomething = async (all: Aggregates, random: Random): Promise<void> => {
  const org = `org_${random.between(1, 2)}`;
  const proj = `proj_${random.between(1, 4)}`;
  const key = `key_${proj}_${random.between(1, 8)}`;
  const admin = `akey_${random.between(1, 5)}`;
  const pol = `pol_${random.between(1, 4)}`;
  const client = `oac_${random.between(1, 4)}`;
  const token = `oat_${random.between(1, 20)}`;
  const at = random.between(1, 10_000);
  const aimed = async () => {
    const { state } = await all.policy.dispatch(pol, 'look', undefined, context);
    return { revision: state.data.revision, at };
  };
  const entry = { amount: random.between(1, 9) * 1_000_000, reference: `ref_${random.between(1, 30)}` };
  const create = { organizationId: org, name: `name ${at}`, at };
  const doings: readonly (() => Promise<unknown>)[] = [
    () => all.organization.dispatch(org, 'create', { name: org, at }, context),
    () => all.organization.dispatch(org, 'topUp', entry, context),
    () => all.organization.dispatch(org, 'grant', entry, context),
    () => all.organization.dispatch(org, 'refund', entry, context),
    () => all.organization.dispatch(org, 'setSubscription', { ...entry, plan: random.pick(plans) }, context),
    () =>
      all.organization.dispatch(org, random.pick(['suspend', 'reactivate', 'reactivate'] as const), undefined, context),
    () => all.project.dispatch(proj, 'create', create, context),
    () => all.project.dispatch(proj, 'update', { name: `renamed ${at}` }, context),
    () => (random.next() < 0.1 ? all.project.dispatch(proj, 'archive', { at }, context) : Promise.resolve()),
    async () => {
      await all.project.dispatch(proj, 'issueKey', { keyId: key }, context);
      const fields = { ...keyFields(random, digestOf(key)), organizationId: org, projectId: proj };
      await all.projectKey.dispatch(key, 'create', fields, context);
    },
    () => all.projectKey.dispatch(key, 'suspend', { at: 1 }, context),
    () => all.projectKey.dispatch(key, 'reactivate', { at: 1 }, context),
    () => all.projectKey.dispatch(key, 'update', { name: `renamed ${at}`, at: 1 }, context),
    () => all.projectKey.dispatch(key, 'expire', { at }, context),
    () =>
      random.next() < 0.2
        ? all.projectKey.dispatch(key, 'revoke', { reason: 'requested' }, context)
        : Promise.resolve(),
    () => all.project.dispatch(proj, 'endKey', { keyId: key }, context),
    async () => {
      const permissions = ['admin_api_keys:write'];
      await all.organization.dispatch(org, 'issueAdminKey', { keyId: admin, permissions, expiresAt: null }, context);
      await all.adminKey.dispatch(
        admin,
        'create',
        { ...keyFields(random, digestOf(admin)), organizationId: org },
        context,
      );
    },
    async () => {
      await all.organization.dispatch(org, 'endAdminKey', { keyId: admin, at, unmade: [] }, context);
      await all.adminKey.dispatch(admin, 'delete', undefined, context);
    },
    async () => {
      await all.organization.dispatch(org, 'issuePolicy', { policyId: pol }, context);
      await all.policy.dispatch(pol, 'create', { ...create, description: '', terms: terms(random) }, context);
    },
    async () =>
      all.policy.dispatch(
        pol,
        'update',
        { ...(await aimed()), changes: { name: `named ${at}`, rule: `${at}` } },
        context,
      ),
    async () => all.policy.dispatch(pol, 'publish', { ...(await aimed()), versionId: `polv_${at}` }, context),
    async () => all.policy.dispatch(pol, random.pick(['pause', 'resume'] as const), await aimed(), context),
    async () => (random.next() < 0.1 ? all.policy.dispatch(pol, 'delete', await aimed(), context) : undefined),
    async () => {
      await all.organization.dispatch(org, 'issueOAuthClient', { clientId: client }, context);
      const fields = { ...keyFields(random, digestOf(client)), organizationId: org };
      await all.oauthClient.dispatch(client, 'create', fields, context);
    },
    () => {
      const digest = digestOf(token);
      const fields = { clientId: client, organizationId: org, scope: ['projects:read'], digest, pepperId: 'p1', at };
      return all.oauthToken.dispatch(token, 'issue', fields, context);
    },
    () => all.oauthToken.dispatch(token, 'revoke', { at }, context),
    async () => {
      if (random.next() < 0.7) return;
      await all.organization.dispatch(org, 'endOAuthClient', { clientId: client }, context);
      await all.oauthClient.dispatch(client, 'delete', undefined, context);
    },
  ];
  await random
    .pick(doings)()
    .catch(() => {});
};

/** Every row of every read model, in the canonical form of JSON. */
export const dump = (models: ReadModels): string => {
  const tables = new Map(projections.flatMap(({ tables: own }) => own.map((table) => [table.name, table] as const)));
  const all = [...tables]
    .sort()
    .map(([name, table]) => [name, models.range(table, { prefix: '', limit: Number.MAX_SAFE_INTEGER })]);
  return canonicalize(JSON.parse(JSON.stringify(all))) ?? '';
};
