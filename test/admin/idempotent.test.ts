import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AdminPrincipal } from '../../projections/principal.ts';
import { once } from '../../src/admin/idempotent.ts';
import { fault } from '../../src/errors.ts';
import type { Head } from '../../src/http/route.ts';
import { stage } from './stage.ts';

let at: Awaited<ReturnType<typeof stage>>;
let made: string[];
let minted: number;

beforeEach(async () => {
  at = await stage();
  made = [];
  minted = 0;
});
afterEach(() => at.close());

const call = (options: { key?: string; body?: object; credential?: string; path?: string } = {}) => {
  const { key = 'some-key-1', body = { name: 'a' }, credential = 'akey_1', path = '/v1/x' } = options;
  const head: Head = {
    requestId: 'req_1',
    method: 'POST',
    path,
    ip: '127.0.0.1',
    header: (name) => (name === 'idempotency-key' && key !== '' ? key : undefined),
  };
  return { head, body, principal: { id: credential, organizationId: 'org_1' } as AdminPrincipal };
};
const make = async (id: string): Promise<string> => {
  made.push(id);
  return id;
};
const attempt = (options?: Parameters<typeof call>[0], create = make) =>
  once(at.admin, call(options), () => `res_${minted++}`, create);
const codeOf = async (tried: Promise<unknown>): Promise<string> =>
  tried.then(
    () => 'made',
    (error) => error.refusal?.code ?? String(error),
  );

describe('a key', () => {
  test('makes one resource', async () => {
    expect(await attempt()).toBe('res_0');
    expect(await codeOf(attempt())).toBe('idempotency_result_unavailable');
    expect(await codeOf(attempt({ body: { name: 'b' } }))).toBe('idempotency_key_reused');
    expect(made).toEqual(['res_0']);
  });
  test('means the same body however its members are ordered', async () => {
    await attempt({ body: { name: 'a', permissions: ['x'] } });
    expect(await codeOf(attempt({ body: { permissions: ['x'], name: 'a' } }))).toBe('idempotency_result_unavailable');
  });
  test('is another one with another credential, path or organization', async () => {
    await attempt();
    expect(await attempt({ credential: 'akey_2' })).toBe('res_1');
    expect(await attempt({ path: '/v1/y' })).toBe('res_2');
  });
  test('lets exactly one of many twins through', async () => {
    const codes = await Promise.all(Array.from({ length: 30 }, () => codeOf(attempt())));
    expect(codes.filter((code) => code === 'made')).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['made', 'idempotency_in_progress']));
    expect(made).toHaveLength(1);
  });
  test('is not needed where the route does not ask for one', async () => {
    expect(await attempt({ key: '' })).toBe('res_0');
    expect(await attempt({ key: '' })).toBe('res_1');
  });
  test('appears nowhere in the store', async () => {
    await attempt({ key: 'very-secret-key' });
    const text = JSON.stringify(at.store.log, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    expect(text).not.toContain('very-secret-key');
  });
});

describe('a request that failed', () => {
  const failing = (error: Error) => async () => Promise.reject(error);
  test('by the law releases the key for a corrected body', async () => {
    expect(await codeOf(attempt({}, failing(fault('project_archived'))))).toBe('project_archived');
    expect(await attempt({ body: { name: 'corrected' } })).toBe('res_1');
  });
  test('without knowing what became of it keeps the reservation, and its id, for the next attempt after 30 s', async () => {
    expect(await codeOf(attempt({}, failing(fault('dependency_unavailable'))))).toBe('dependency_unavailable');
    expect(await codeOf(attempt())).toBe('idempotency_in_progress');
    at.clock.at += 30_000;
    expect(await attempt()).toBe('res_0');
  });
  test('and whose resource turns out to be there never makes a second one', async () => {
    expect(await codeOf(attempt({}, failing(new Error('crash'))))).toBe('Error: crash');
    at.clock.at += 30_000;
    expect(await codeOf(attempt({}, failing(fault('idempotency_result_unavailable'))))).toBe(
      'idempotency_result_unavailable',
    );
    at.clock.at += 30_000;
    expect(await codeOf(attempt())).toBe('idempotency_result_unavailable');
    expect(made).toEqual([]);
  });
});
