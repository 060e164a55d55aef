import { systemClock } from '../../src/clock.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { Route } from '../../src/http/route.ts';
import { ofEmbeddings } from '../inference/embeddings/of-embeddings.ts';
import { hosted, model } from '../inference/hosted.ts';
import { routesToLookAt } from '../support/all-routes.ts';
import type { Received } from '../support/in-process.ts';
import { bearer, context, wholeGateway } from '../support/whole-gateway.ts';
import { type Ids, limitSpend, type Row, rows } from './rows.ts';

export const routes = routesToLookAt();
export const named = routes.map((route) => ({ route, title: `${route.method} ${route.path}` }));
export const rowOf = ({ operation }: Route): Row => rows[operation] as Row;
export const isAdministration = ({ access }: Route): boolean => access.credential === 'admin';
export const base = '/v1/organization';

let asked = 0;
const freshKey = (): string => `matrix-key-${asked++}`;

/** An organization with one of everything, and more of it for whoever asks. */
const tenantOf = async (at: Awaited<ReturnType<typeof wholeGateway>>) => {
  const made = await at.make.tenant();
  const { organizationId, projectId } = made;
  const send = (method: string, path: string, body?: object): Promise<Received> =>
    at.call(method, `${base}${path}`, {
      headers: { ...bearer(made.adminKey.value), 'idempotency-key': freshKey() },
      ...(body && { body }),
    });
  const newPolicy = async (state: 'draft' | 'live' | 'paused'): Promise<string> => {
    const { body } = await send('POST', '/policies', { name: 'p', rule: 'true' });
    if (state !== 'draft') await send('POST', `/policies/${body.id}/publish`, { revision: 1 });
    if (state === 'paused') await send('POST', `/policies/${body.id}/pause`, { revision: 2 });
    return body.id;
  };
  const newKey = () => at.make.projectKey({ organizationId, projectId });
  const newAdminKey = async (): Promise<string> => (await at.make.adminKey(organizationId)).id;
  // Two that may make others, so that one of them can be deleted.
  await newAdminKey();
  return {
    ...made,
    policyId: await newPolicy('live'),
    newPolicy,
    newKey,
    newAdminKey,
    newProject: () => at.make.project(organizationId),
    /** Of a project, or of the organization. */
    limitSpend: (project?: string) => limitSpend(send, project),
    async newSuspendedKey(): Promise<string> {
      const { id } = await newKey();
      await at.settled(await at.admin.aggregates.projectKey.dispatch(id, 'suspend', { at: at.clock.at }, context));
      return id;
    },
    firstOf: async (path: string): Promise<string> => (await send('GET', `${path}?limit=1`)).body.data[0].id,
  };
};
export type Tenant = Awaited<ReturnType<typeof tenantOf>>;

const fill = (path: string, ids: Ids): string =>
  path.replace(/\{(\w+)\*?\}/g, (_, each: string) => ids[each] ?? 'none');

/** The credential that a route wants, of a tenant. */
export const ownerOf = ({ access }: Route, tenant: Tenant): Ids =>
  bearer(access.credential === 'project' ? tenant.projectKey.value : tenant.adminKey.value);

export const codeOf = ({ body }: Received): string => body.error?.code ?? body.error ?? '';

/** A gateway with two tenants, and requests by the rows. */
export const matrix = async () => {
  const models = new Map(connect(loadModels(null, {}), { clock: systemClock, sleep: async () => {} }));
  const at = await wholeGateway({ models: new Map([...models, ...hosted(ofEmbeddings, model({ id: 'embeddings' }))]) });
  let requests = 0;
  const send = (route: Route, ids: Ids, headers: Ids, query = rowOf(route).query): Promise<Received> => {
    const { body, idempotent } = rowOf(route);
    const isForm = route.bodyForm === 'urlencoded';
    return at.call(route.method, `${fill(route.path, ids)}${query === undefined ? '' : `?${query}`}`, {
      // From an address of its own, so that none is taken for somebody who guesses.
      ip: `10.${requests >> 16}.${(requests >> 8) & 255}.${requests++ & 255}`,
      headers: {
        ...headers,
        ...(idempotent && { 'idempotency-key': freshKey() }),
        ...(isForm && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body && { body }),
      ...(isForm && { body: 'grant_type=client_credentials&token=x' }),
    });
  };
  const newTenant = () => tenantOf(at);
  return { at, send, newTenant, mine: await newTenant(), theirs: await newTenant() };
};
