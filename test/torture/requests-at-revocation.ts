import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Route } from '../../src/http/route.ts';
import { limitSpend, rows } from '../matrix/rows.ts';
import type { Tenant } from '../matrix/stage.ts';
import { routesToLookAt } from '../support/all-routes.ts';
import { holdRequest } from '../support/held-request.ts';
import { complain, type Figures, type Plan } from './figures.ts';
import { inStore, newAdminKey, startGateway, untilKnown, withoutLimits } from './gateway.ts';
import { seeded } from './random.ts';
import { Scene } from './scene.ts';

const stubborn = fileURLToPath(new URL('../support/stubborn-gateway-main.ts', import.meta.url));
const base = '/v1/organization';

const writes = routesToLookAt().filter(({ method, access }) => method !== 'GET' && 'permission' in access);

interface Made {
  readonly id: string;
  readonly value: string;
}

/** An administrator who is never revoked, and what the rows of the matrix need of an organization. */
const administrator = async (baseUrl: string, adminKey: string) => {
  let asked = 0;
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${baseUrl}${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${adminKey}`,
        'content-type': 'application/json',
        'idempotency-key': `torture-${asked++}`,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status} ${text}`);
    return JSON.parse(text);
  };
  const make = (path: string): Promise<Made> => send('POST', path, { name: 'n' });
  const { id: projectId } = await make('/projects');
  const newKey = () => make(`/projects/${projectId}/api_keys`);
  const tenant = {
    projectId,
    newKey,
    newProject: async () => (await make('/projects')).id,
    newAdminKey: async () => (await make('/admin_api_keys')).id,
    async newSuspendedKey() {
      const { id } = await newKey();
      await send('POST', `/projects/${projectId}/api_keys/${id}/suspend`);
      return id;
    },
    limitSpend: (project?: string) => limitSpend(send, project),
    async newPolicy(state: 'draft' | 'live' | 'paused') {
      const { id } = await send('POST', '/policies', { name: 'p', rule: 'true' });
      if (state !== 'draft') await send('POST', `/policies/${id}/publish`, { revision: 1 });
      if (state === 'paused') await send('POST', `/policies/${id}/pause`, { revision: 2 });
      return id as string;
    },
  };
  return {
    tenant: tenant as unknown as Tenant,
    send,
    newOf: ({ access }: Route): Promise<Made> => (access.credential === 'project' ? newKey() : make('/admin_api_keys')),
    revoke: ({ access }: Route, id: string) =>
      send(
        'DELETE',
        access.credential === 'project' ? `/projects/${projectId}/api_keys/${id}` : `/admin_api_keys/${id}`,
      ),
    /** What is on record of somebody, but for being refused. */
    deedsOf: async (id: string): Promise<string[]> => {
      const { data } = await send('GET', `/audit_logs?actor_ids[]=${id}`);
      return data.map(({ type }: { type: string }) => type).filter((type: string) => type !== 'access.denied');
    },
  };
};

/**
 * K6, held: for a new key each time a write route, whichever, is sent a request without the end of its body; the key is
 * revoked, and the rest is sent once that is acknowledged. It must be refused, and the audit log must know of nothing that
 * the key has done. The canary stands by what it said at the headers.
 */
export async function torturedByHeldRequests(
  { count, seed, from = 0, canary, store }: Plan,
  figures: Figures,
): Promise<void> {
  const scene = new Scene();
  try {
    const dir = join(scene.dir(), 'data');
    const env = { DATA_DIR: dir, ...withoutLimits, ...inStore(store) };
    const { baseUrl } = await startGateway(scene, dir, env, canary ? ['--import', 'tsx', stubborn] : undefined);
    const adminKey = await newAdminKey(env);
    await untilKnown({ baseUrl }, `${base}/projects`, adminKey);
    const boss = await administrator(baseUrl, adminKey);
    const port = Number(new URL(baseUrl).port);
    for (let cycle = from; cycle < from + count; cycle++, figures.cycles++) {
      scene.goOn();
      const random = seeded(seed, cycle);
      const route = writes[random.between(0, writes.length - 1)]!;
      const { ids, query, body = {}, idempotent } = rows[route.operation]!;
      const named = (await ids?.(boss.tenant)) ?? {};
      const path = route.path.replace(/\{(\w+)\*?\}/g, (_, name: string) => named[name] ?? 'none');
      const { id, value } = await boss.newOf(route);
      const sent = {
        method: route.method,
        path: query === undefined ? path : `${path}?${query}`,
        headers: {
          authorization: `Bearer ${value}`,
          ...(idempotent && { 'idempotency-key': `held-request-${cycle}` }),
        },
        body: JSON.stringify(body),
      };
      const held = holdRequest(port, sent, random.between(1, sent.body.length));
      // Whatever is asked after it is answered after its headers have been read.
      await boss.send('GET', '/projects?limit=1');
      await boss.revoke(route, id);
      figures.acknowledged++;
      const { status } = await held.finish();
      const where = `cycle ${cycle}: ${route.method} ${route.path}`;
      if (status !== 401) complain(figures, `${where} was answered ${status} after its key had been revoked`);
      const deeds = await boss.deedsOf(id);
      if (deeds.length > 0) complain(figures, `${where}: the revoked key did ${deeds.join(', ')}`);
    }
  } finally {
    await scene.end();
  }
}
