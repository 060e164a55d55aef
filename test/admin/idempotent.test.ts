import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Created, type CreateOperation, createIdempotently } from '../../src/admin/idempotent.ts';
import { sealedSecretStream } from '../../src/admin/sealed-secret-store.ts';
import type { AdminPrincipal } from '../../src/data/access/principal.ts';
import { fault } from '../../src/errors.ts';
import type { Head, Reply } from '../../src/http/route.ts';
import { onSignal } from '../../src/telemetry.ts';
import { stage } from './stage.ts';

const hour = 3600 * 1000;
let at: Awaited<ReturnType<typeof stage>>;
/** Ids and secrets that resources were made with, in order. */
let made: [string, string][];
let minted: number;
let requests = 0;

beforeEach(async () => {
  at = await stage();
  made = [];
  minted = 0;
});
afterEach(() => at.close());

interface Asked {
  readonly key?: string;
  readonly body?: object;
  readonly credential?: string;
  readonly secret?: string;
  readonly scheme?: string;
  readonly kind?: AdminPrincipal['kind'];
  readonly path?: string;
  readonly requestId?: string;
}

const call = ({
  key = 'some-key-1',
  body = { name: 'a' },
  credential = 'akey_1',
  secret = 'caller-secret',
  scheme = 'Bearer',
  kind = 'admin_key',
  path = '/v1/x',
  requestId = `req_${requests++}`,
}: Asked = {}) => {
  const headers: Record<string, string> = {
    authorization: `${scheme} ${secret}`,
    ...(key !== '' && { 'idempotency-key': key }),
  };
  const head: Head = { requestId, method: 'POST', path, ip: '127.0.0.1', header: (name) => headers[name] };
  return { head, body, principal: { kind, id: credential, organizationId: 'org_1' } as AdminPrincipal };
};
const make = async (id: string, secret: string): Promise<Created> => {
  made.push([id, secret]);
  return { body: { id, name: 'a' }, head: null };
};
const attempt = (asked?: Asked, over: Partial<CreateOperation> = {}): Promise<Reply> =>
  createIdempotently(at.admin, call(asked), {
    newResourceId: () => `res_${minted++}`,
    newSecret: () => `secret-${minted}`,
    create: make,
    ...over,
  });
const text = async (tried: Promise<Reply>): Promise<string> => JSON.stringify(((await tried) as { body: object }).body);
const codeOf = (tried: Promise<unknown>): Promise<string> =>
  tried.then(
    () => 'made',
    (error) => error.refusal?.code ?? String(error),
  );
const failing = (error: Error) => ({ create: async () => Promise.reject(error) });

describe('the same request again', () => {
  test('is answered byte for byte, with its secret, and makes nothing', async () => {
    const first = await attempt();
    const again = await attempt();
    expect(await text(Promise.resolve(again))).toBe(await text(Promise.resolve(first)));
    expect(await text(Promise.resolve(first))).toBe('{"id":"res_0","name":"a","value":"secret-1"}');
    expect(first.headers).toBeUndefined();
    expect(again.headers).toEqual({ 'Idempotent-Replayed': 'true' });
    expect(made).toHaveLength(1);
  });
  test('is recorded as a secret shown again', async () => {
    const shown: string[] = [];
    const recordRepeat = async (id: string) => void shown.push(id);
    await attempt({}, { recordRepeat });
    expect(shown).toEqual([]);
    await attempt({}, { recordRepeat });
    expect(shown).toEqual(['res_0']);
  });
  test('is answered for 24 hours, to the millisecond, and then starts a new one', async () => {
    await attempt();
    at.clock.at += 24 * hour - 1;
    await attempt();
    expect(made).toHaveLength(1);
    at.clock.at += 1;
    expect(await text(attempt())).toContain('"id":"res_2"');
    expect(made).toHaveLength(2);
  });
  test('is not answered once its result does not stand any more', async () => {
    await attempt();
    expect(await codeOf(attempt({}, { isRepeatable: () => false }))).toBe('idempotency_result_unavailable');
  });
  test('is not answered when the sealed secret was removed, or its day’s key is gone', async () => {
    await attempt();
    await attempt({ key: 'another-key' });
    await at.store.remove(sealedSecretStream('res_0'));
    expect(await codeOf(attempt())).toBe('idempotency_result_unavailable');
    rmSync(join(at.dir, 'day-keys'), { recursive: true });
    expect(await codeOf(attempt({ key: 'another-key' }))).toBe('idempotency_result_unavailable');
    expect(made).toHaveLength(2);
  });
  test('means the same body however its members are ordered, and no other', async () => {
    await attempt({ body: { name: 'a', permissions: ['x'] } });
    expect(await codeOf(attempt({ body: { permissions: ['x'], name: 'a' } }))).toBe('made');
    expect(await codeOf(attempt({ body: { name: 'b' } }))).toBe('idempotency_key_reused');
    expect(made).toHaveLength(1);
  });
  test('by another credential, or for another path, is another one', async () => {
    await attempt();
    await attempt({ credential: 'akey_2' });
    await attempt({ path: '/v1/y' });
    expect(made.map(([id]) => id)).toEqual(['res_0', 'res_1', 'res_2']);
  });
  test('of a resource without a secret is answered without one', async () => {
    const making = { newResourceId: () => 'res_x', create: make };
    const first = await createIdempotently(at.admin, call(), making);
    expect(await createIdempotently(at.admin, call(), making)).toEqual({
      ...first,
      headers: { 'Idempotent-Replayed': 'true' },
    });
    expect(await text(Promise.resolve(first))).toBe('{"id":"res_x","name":"a"}');
  });
});

describe('a secret', () => {
  test('is on its own stream, sealed, for a day, and nowhere else', async () => {
    await attempt({ key: 'very-secret-key', requestId: 'req_1' });
    const all = JSON.stringify(at.store.log, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    for (const hidden of ['secret-1', 'caller-secret', 'very-secret-key']) expect(all).not.toContain(hidden);
    expect(at.store.ages.get(sealedSecretStream('res_0'))).toBe(86_400);
    expect(at.store.log.filter((event) => event.stream === sealedSecretStream('res_0'))).toMatchObject([
      {
        type: 'replay.sealed',
        metadata: {
          at: at.clock.wall(),
          actor: { type: 'api_key', id: 'akey_1' },
          $correlationId: 'req_1',
          v: 1,
        },
      },
    ]);
  });
  test('cannot be opened without the secret of the credential that made it', async () => {
    await attempt();
    expect(await codeOf(attempt({ secret: 'stolen-or-forged' }))).toBe('idempotency_result_unavailable');
    expect(await codeOf(attempt())).toBe('made');
  });
  test('is bound to the token and not to how its scheme is written', async () => {
    const first = await text(attempt({ scheme: 'Bearer' }));
    expect(await text(attempt({ scheme: 'bearer' }))).toBe(first);
    expect(await codeOf(attempt({ secret: 'bearer caller-secret' }))).toBe('idempotency_result_unavailable');
  });
  test('that an OAuth client made is repeated to any of its tokens, which live for an hour', async () => {
    const kind = 'oauth_client';
    const first = await text(attempt({ kind, credential: 'oac_1', secret: 'first-token' }));
    expect(await text(attempt({ kind, credential: 'oac_1', secret: 'second-token' }))).toBe(first);
  });
  test('is the one that a twin has kept in the meantime', async () => {
    await at.close();
    // The append lands, and is answered as if another had been first.
    at = await stage({
      fault: (stream) => (stream.startsWith('replay-') ? 'conflict-after-landing' : 'none'),
    });
    expect(await text(attempt())).toBe('{"id":"res_0","name":"a","value":"secret-1"}');
    expect(made).toEqual([['res_0', 'secret-1']]);
  });
  test('that cannot be kept, since the folder of the keys is gone, makes nothing until it is back', async () => {
    const told: [string, { error?: Error }][] = [];
    const stop = onSignal((name, signal) => void told.push([name, signal as { error?: Error }]));
    const folder = join(at.dir, 'day-keys');
    rmSync(folder, { recursive: true });
    for (let n = 0; n < 2; n++) {
      const refused = await attempt().catch((error) => error.refusal);
      expect(refused).toMatchObject({ code: 'dependency_unavailable', status: 503, headers: { 'Retry-After': '1' } });
      expect(refused.message).toContain('it is not there');
      expect(refused.message).not.toContain(at.dir);
    }
    expect([made, minted]).toEqual([[], 2]);
    expect(
      told.filter(([name]) => name === 'request.failed').map(([name, { error }]) => [name, error?.message]),
    ).toEqual(Array(2).fill(['request.failed', expect.stringContaining(folder)]));
    stop();
    mkdirSync(folder);
    expect(await text(attempt())).toBe('{"id":"res_0","name":"a","value":"secret-3"}');
    expect(made).toEqual([['res_0', 'secret-3']]);
  });
  test('is not kept under a key that is damaged', async () => {
    writeFileSync(join(at.dir, 'day-keys', `${new Date(at.clock.at).toISOString().slice(0, 10)}.key`), 'short');
    expect(await attempt().catch((error) => error.refusal.message)).toContain('a file in it is damaged');
    expect(made).toEqual([]);
  });
  test('is beyond everybody once the key of its day is destroyed, 48 hours after the day began', async () => {
    const days = () => readdirSync(join(at.dir, 'day-keys'));
    await attempt();
    const [file = ''] = days();
    const dayBegan = Date.parse(file.slice(0, 10));
    at.admin.dayKeys.destroyOld(dayBegan + 48 * hour - 1);
    expect(days()).toEqual([file]);
    at.admin.dayKeys.destroyOld(dayBegan + 48 * hour);
    expect(days()).toEqual([]);
    expect(await codeOf(attempt())).toBe('idempotency_result_unavailable');
  });
});

describe('twins', () => {
  test('at the same time: exactly one is let through', async () => {
    const codes = await Promise.all(Array.from({ length: 30 }, () => codeOf(attempt())));
    expect(codes.filter((code) => code === 'made')).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['made', 'idempotency_in_progress']));
    expect(made).toHaveLength(1);
  });
});

describe('without a key', () => {
  test('every request makes a resource of its own', async () => {
    await attempt({ key: '' }, { newSecret: () => '' });
    await attempt({ key: '' }, { newSecret: () => '' });
    expect(made.map(([id]) => id)).toEqual(['res_0', 'res_1']);
  });
});

describe('a request that failed', () => {
  test('by the law releases the key for a corrected body', async () => {
    expect(await codeOf(attempt({}, failing(fault('project_archived'))))).toBe('project_archived');
    expect(await codeOf(attempt({ body: { name: 'corrected' } }))).toBe('made');
    expect(made.map(([id]) => id)).toEqual(['res_1']);
  });
  test('without knowing what became of it is taken up by the next one with its own id and its own secret', async () => {
    const lost: [string, string][] = [];
    const create = async (id: string, secret: string) => {
      lost.push([id, secret]);
      throw fault('dependency_unavailable');
    };
    expect(await codeOf(attempt({}, { create }))).toBe('dependency_unavailable');
    expect(await codeOf(attempt())).toBe('made');
    expect(made).toEqual(lost);
  });
  test('is not taken up by whoever cannot open its secret', async () => {
    expect(await codeOf(attempt({}, failing(fault('dependency_unavailable'))))).toBe('dependency_unavailable');
    at.clock.at += 6_000;
    expect(await codeOf(attempt({ secret: 'stolen-or-forged' }))).toBe('idempotency_result_unavailable');
    expect(made).toEqual([]);
  });
  test('long after another had taken it up leaves the key to that one', async () => {
    let refuse = (_: Error): void => {};
    let isBegun = false;
    const create = () => {
      isBegun = true;
      return new Promise<Created>((_, reject) => {
        refuse = reject;
      });
    };
    const lateCode = codeOf(attempt({}, { create }));
    await expect.poll(() => isBegun).toBe(true);
    at.clock.at += 6_000;
    let finish = (): void => {};
    let isTaken = false;
    const taker = attempt(
      {},
      {
        create: async (id, secret) => {
          isTaken = true;
          await new Promise<void>((resolve) => {
            finish = resolve;
          });
          return make(id, secret);
        },
      },
    );
    await expect.poll(() => isTaken).toBe(true);
    refuse(fault('project_archived'));
    expect(await lateCode).toBe('project_archived');
    // The one that took it up is still at work: nobody else may begin, with this body or another.
    expect(await codeOf(attempt())).toBe('idempotency_in_progress');
    expect(await codeOf(attempt({ body: { name: 'other' } }))).toBe('idempotency_key_reused');
    finish();
    expect(await text(taker)).toBe('{"id":"res_0","name":"a","value":"secret-1"}');
    expect(at.store.log.filter(({ type }) => type === 'idempotency.released')).toEqual([]);
    expect(made).toHaveLength(1);
  });
  test('says in its release which request had reserved', async () => {
    expect(await codeOf(attempt({ requestId: 'req_mine' }, failing(fault('project_archived'))))).toBe(
      'project_archived',
    );
    const events = at.store.log.filter(({ type }) => type.startsWith('idempotency.'));
    expect(events.map(({ type, data }) => [type, data.reserved_by])).toEqual([
      ['idempotency.reserved', 'req_mine'],
      ['idempotency.released', 'req_mine'],
    ]);
  });
  test('by a defect of ours holds the key for the same body, for nobody knows what it did', async () => {
    expect(await codeOf(attempt({}, failing(fault('internal_error'))))).toBe('internal_error');
    expect(await codeOf(attempt({ body: { name: 'corrected' } }))).toBe('idempotency_key_reused');
    expect(await codeOf(attempt())).toBe('made');
    expect(made.map(([id]) => id)).toEqual(['res_0']);
  });
  test('before its secret was kept is taken up with its own id', async () => {
    at.store.available = false;
    expect(await codeOf(attempt())).toBe('dependency_unavailable');
    at.store.available = true;
    expect(await codeOf(attempt())).toBe('made');
  });
  test('and whose resource has ended since never makes a second one', async () => {
    expect(await codeOf(attempt({}, failing(new Error('crash'))))).toBe('Error: crash');
    at.clock.at += 6_000;
    const gone = failing(fault('idempotency_result_unavailable'));
    for (let again = 0; again < 2; again++) {
      expect(await codeOf(attempt({}, gone))).toBe('idempotency_result_unavailable');
    }
    expect(made).toEqual([]);
  });
});
