import { credentialOf } from '../../src/admin/credential.ts';
import { fundsOf } from '../../src/app/funds.ts';
import type { Checks } from '../../src/app/health.ts';
import { SpendRows } from '../../src/app/spend-limits.ts';
import { systemClock } from '../../src/clock.ts';
import { apiKeyGate } from '../../src/data/access/authenticate.ts';
import type { Knowledge } from '../../src/data/access/knowledge.ts';
import type { Principal } from '../../src/data/access/principal.ts';
import type { SpendSource } from '../../src/data/account/spend-limits.ts';
import { type Decided, policyGuard } from '../../src/data/policy/guard.ts';
import type { KeptRequests } from '../../src/data/policy/kept-requests.ts';
import { aliasesOf, type ConnectedModel, connect, type ServedModels } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { tiers } from '../../src/domain/organization/tiers.ts';
import { adminPermissions, projectPermissions, tokenPermissions } from '../../src/domain/permissions.ts';
import type { Pricing } from '../../src/domain/usage/charge.ts';
import { type ServerOptions, serve } from '../../src/http/listen/server.ts';
import { newId, newToken, type TokenKind } from '../../src/ids.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import type { RowReader } from '../../src/kernel/rows/rows.ts';
import type { Windows } from '../../src/limits/windows.ts';
import { type Evaluator, openEvaluator } from '../../src/rules/evaluate.ts';
import { stage } from '../admin/stage.ts';
import { memoryAccounts } from './accounts.ts';
import { allRoutes } from './all-routes.ts';
import { inProcess } from './in-process.ts';
import type { MemoryOptions } from './memory-store.ts';
import { wideWindows } from './test-windows.ts';
import { upToDate } from './up-to-date.ts';

export const context: Context = { actor: { type: 'system', id: 'test' } };

export interface WholeOptions extends MemoryOptions {
  /** Default: the simulated ones, which do not wait. */
  readonly models?: ReadonlyMap<string, ConnectedModel>;
  readonly checks?: Checks;
  readonly balanceAgeMs?: () => number;
  readonly knowledge?: Knowledge;
  /** Default: those whose limits nobody meets. */
  readonly windows?: Windows;
  /** Keeps the text of requests for replays; by default nobody does. */
  readonly kept?: KeptRequests;
  /** Judges by the rules of policies, and is closed with the gateway; default: as the gateway's own does. */
  readonly evaluator?: Evaluator;
  /** Of every model; default: an output token costs a micro-dollar. */
  readonly pricing?: Partial<Pricing>;
  /** Default: as the rows have them. */
  readonly spend?: SpendSource;
}

const listed = (models: ReadonlyMap<string, ConnectedModel> | ServedModels): ServedModels =>
  'list' in models
    ? models
    : (Object.defineProperties(models, {
        list: { get: () => [...models.values()].map(({ model }) => model), configurable: true },
        aliases: { get: () => aliasesOf([...models.values()].map(({ model }) => model)), configurable: true },
      }) as ServedModels);

/** What a gateway keeps until a batch changes it. */
const readEachTime = (rows: Pick<RowReader, 'get'>): SpendSource => ({
  limitsOf: (...of) => new SpendRows(rows).limitsOf(...of),
});

/** Every route over a store in memory, with the real gate, read models and law in front of and behind it. */
export const wholeGateway = async ({
  models,
  checks = {},
  balanceAgeMs = () => 0,
  knowledge = upToDate,
  windows = wideWindows(),
  kept,
  evaluator = openEvaluator(),
  pricing = { completion: '0.000001' },
  spend,
  ...memory
}: WholeOptions = {}) => {
  const at = await stage(memory);
  const { admin, clock } = at;
  const connected = connect(loadModels(null, {}), { clock, sleep: async () => {} });
  // Tests put models into theirs later on.
  const served = models ? listed(models) : connected;
  const accounts = memoryAccounts(pricing, fundsOf(admin.models, served), spend ?? readEachTime(admin.models));
  const decided: Decided[] = [];
  const policies = policyGuard({
    inForce: at.inForce,
    evaluator,
    clock,
    record: (each) => void decided.push(each),
    ...(kept && { kept }),
  });
  const routes = allRoutes({
    admin,
    policies,
    models: served,
    ownedBy: 'weir',
    clock,
    evaluator,
    windows,
    tiers: { table: tiers },
    knowledge,
    isBehind: () => knowledge.isBehind,
    creditAgeMs: balanceAgeMs,
    balanceOf: (organizationId) => accounts.credit.balanceOf(organizationId),
    unrecordedOf: (id, interval) => accounts.credit.unrecordedOf(id, interval, clock.wall()),
    readiness: { checks, ageMs: balanceAgeMs, signing: () => ({ isSigned: true, passedOver: [] }) },
    publicUrl: () => 'https://weir.example',
  });
  const gate = apiKeyGate({
    accounts,
    directory: admin.directory,
    peppers: admin.secrets.peppers,
    clock,
    accessLog: at.accessLog,
    windows,
    knowledge,
  });
  const { aggregates } = admin;

  const settled = async ({ position }: { readonly position: bigint | null }): Promise<void> => {
    if (position !== null && !(await admin.models.reached(position, 5000)))
      throw new Error('the read models are behind');
  };
  const secretOf = (kind: TokenKind) => {
    const value = newToken(kind);
    return { value, ...credentialOf(admin.secrets, value) };
  };

  const projectKey = async (
    owner: { readonly organizationId: string; readonly projectId: string },
    fields: { readonly permissions?: readonly string[]; readonly expiresAt?: number | null } = {},
  ) => {
    const id = newId('key', clock);
    const { value, ...credential } = secretOf('p');
    await aggregates.project.dispatch(owner.projectId, 'issueKey', { keyId: id }, context);
    const input = { ...owner, name: 'k', permissions: projectPermissions, expiresAt: null, at: clock.at, ...fields };
    await settled(await aggregates.projectKey.dispatch(id, 'create', { ...input, ...credential }, context));
    return { id, value };
  };
  const adminKey = async (
    organizationId: string,
    fields: { readonly permissions?: readonly string[]; readonly expiresAt?: number | null } = {},
  ) => {
    const id = newId('akey', clock);
    const { value, ...credential } = secretOf('a');
    const input = {
      organizationId,
      name: 'a',
      permissions: adminPermissions,
      expiresAt: null,
      at: clock.at,
      ...fields,
    };
    const admission = { keyId: id, permissions: input.permissions, expiresAt: input.expiresAt };
    await aggregates.organization.dispatch(organizationId, 'issueAdminKey', admission, context);
    await settled(await aggregates.adminKey.dispatch(id, 'create', { ...input, ...credential }, context));
    return { id, value };
  };
  const oauthClient = async (organizationId: string, permissions: readonly string[] = tokenPermissions) => {
    const id = newId('oac', clock);
    const { value: secret, ...credential } = secretOf('s');
    await aggregates.organization.dispatch(organizationId, 'issueOAuthClient', { clientId: id }, context);
    const input = { organizationId, name: 'c', permissions, at: clock.at, ...credential };
    await settled(await aggregates.oauthClient.dispatch(id, 'create', input, context));
    return { id, secret };
  };
  const project = async (organizationId: string): Promise<string> => {
    const id = newId('proj', clock);
    await settled(
      await aggregates.project.dispatch(id, 'create', { organizationId, name: 'p', at: clock.at }, context),
    );
    return id;
  };
  const organization = async (): Promise<string> => {
    const id = newId('org', clock);
    await settled(await aggregates.organization.dispatch(id, 'create', { name: 'o', at: clock.at }, context));
    return id;
  };
  /** An organization with one of everything but policies. */
  const tenant = async () => {
    const organizationId = await organization();
    const projectId = await project(organizationId);
    return {
      organizationId,
      projectId,
      projectKey: await projectKey({ organizationId, projectId }),
      adminKey: await adminKey(organizationId),
      oauthClient: await oauthClient(organizationId),
    };
  };

  return {
    ...at,
    routes,
    gate,
    accounts,
    decided,
    call: inProcess(routes, gate),
    /** The same over the wire, on a port of its own; to be drained by whoever asked for it. */
    listen: (options: Partial<ServerOptions<Principal>> = {}) =>
      serve({
        routes,
        gate,
        host: '127.0.0.1',
        port: 0,
        requestId: () => newId('req', systemClock),
        clock: systemClock,
        ...options,
      }),
    make: { organization, project, projectKey, adminKey, oauthClient, tenant },
    settled,
    async close() {
      await evaluator.close();
      await connected.close();
      await at.close();
    },
  };
};

export const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
