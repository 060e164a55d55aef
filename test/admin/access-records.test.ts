import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { lastUseOf } from '../../projections/credential-uses.ts';
import { AccessRecords } from '../../src/admin/audit/access-records.ts';
import { turns } from '../../src/data/access/access-log.ts';
import type { BearerPrincipal, Identity } from '../../src/data/access/principal.ts';
import { accessRecordSeconds } from '../../src/domain/key/access-events.ts';
import type { Head } from '../../src/http/route.ts';
import { sharedStreamWriter } from '../../src/kernel/commands/shared-stream-writer.ts';
import { StoreUnavailable } from '../../src/kernel/store/store.ts';
import { stage } from './stage.ts';

let at: Awaited<ReturnType<typeof stage>>;
let records: AccessRecords;
beforeEach(async () => {
  at = await stage();
  at.clock.at = Date.UTC(2026, 10, 20, 23, 59, 30);
  at.accessLog.tick();
  records = new AccessRecords(at.accessLog, sharedStreamWriter(at.store, accessRecordSeconds), at.clock);
});
afterEach(() => at.close());

const use = (id: string, organizationId = 'org_1'): void =>
  at.accessLog.used({ id, organizationId } as BearerPrincipal);
const who: Identity = { kind: 'project_key', id: 'key_1', organizationId: 'org_1', projectId: 'proj_1' };
const head: Head = { requestId: 'req_1', method: 'POST', path: '/x', ip: '10.0.0.1', header: () => undefined };
const refuse = (over: Partial<Identity> = {}): void =>
  at.accessLog.refused({ ...who, ...over }, { method: 'POST', path: '/v1/messages' }, 'api_key_revoked', head);
const seen = () => at.admin.models.reached(at.store.log.at(-1)!.position, 2000);

describe('last uses', () => {
  test('are one event of whichever organizations, and what is read is the latest of all', async () => {
    for (const id of ['key_1', 'key_2']) use(id);
    use('akey_3', 'org_2');
    await records.write(false);
    expect(at.store.log.map(({ stream, type, data }) => [stream, type, data])).toEqual([
      [
        'credentialUse-20261120',
        'credential.used',
        { used: { key_1: 1795219170, key_2: 1795219170, akey_3: 1795219170 } },
      ],
    ]);
    await seen();
    expect(lastUseOf(at.admin.models, 'key_2')).toBe(1795219170);
    expect(lastUseOf(at.admin.models, 'key_9')).toBeNull();
    await records.write(false);
    expect(at.store.log).toHaveLength(1);
  });
  test('are kept for 400 days, as refusals are', async () => {
    const limited = vi.spyOn(at.store, 'limitAge');
    use('key_1');
    refuse();
    await records.write(true);
    expect(limited.mock.calls).toEqual([
      ['credentialUse-20261120', 34_560_000],
      ['denial-org_1_20261120', 34_560_000],
    ]);
  });
  test('go on the stream of the day on which they are recorded', async () => {
    use('key_1');
    at.clock.at += 31_000;
    await records.write(false);
    expect(at.store.log[0]?.stream).toBe('credentialUse-20261121');
  });
  test('never go back, in whatever order several gateways record theirs', async () => {
    use('key_1');
    await records.write(false);
    at.clock.at -= 10_000;
    at.accessLog.tick();
    use('key_1');
    await records.write(false);
    await seen();
    expect(lastUseOf(at.admin.models, 'key_1')).toBe(1795219170);
  });
  test('of many credentials are written one after the other over the time that there is', async () => {
    for (let i = 0; i < 1000; i++) use(`key_${i}`);
    const waits: number[] = [];
    const paced = new AccessRecords(
      at.accessLog,
      sharedStreamWriter(at.store, accessRecordSeconds),
      at.clock,
      async (ms) => waits.push(ms),
    );
    await paced.write(false, undefined, 800);
    expect(at.store.log).toHaveLength(4);
    expect(waits).toEqual([200, 400, 600]);
  });
  test('are written at once where there is no time', async () => {
    for (let i = 0; i < 1000; i++) use(`key_${i}`);
    const never = () => Promise.reject(new Error('nobody should wait'));
    await new AccessRecords(at.accessLog, sharedStreamWriter(at.store, accessRecordSeconds), at.clock, never).write(
      false,
    );
    expect(at.store.log).toHaveLength(4);
  });
  test('of the turns that are asked for are written, and no others', async () => {
    for (let i = 0; i < 100; i++) use(`key_${i}`);
    const evens = Array.from({ length: turns / 2 }, (_, half) => half * 2);
    await records.write(false, evens);
    const first = Object.keys(at.store.log[0]!.data.used as object);
    expect(first.length).toBeGreaterThan(20);
    expect(first.length).toBeLessThan(80);
    await records.write(false);
    expect(at.store.log).toHaveLength(2);
    expect([...first, ...Object.keys(at.store.log[1]!.data.used as object)].sort()).toEqual(
      Array.from({ length: 100 }, (_, i) => `key_${i}`).sort(),
    );
  });
  test.each([
    [250, false, 1],
    [251, false, 2],
    [10_000, true, 1],
    [10_001, true, 2],
  ])(
    'of %i credentials (at the end: %s) are %i events, each less than half a mebibyte',
    async (count, atEnd, events) => {
      for (let i = 0; i < count; i++) use(`key_${String(i).padStart(26, '0')}`);
      await records.write(atEnd);
      expect(at.store.log).toHaveLength(events);
      for (const { data } of at.store.log) expect(JSON.stringify(data).length).toBeLessThan(524_288);
    },
  );
});

describe('refused attempts', () => {
  test('are one event a kind, by the credential that was refused', async () => {
    refuse();
    refuse();
    at.clock.at += 30_000;
    refuse();
    await records.write(false);
    expect(at.store.log).toHaveLength(1);
    expect(at.store.log[0]).toMatchObject({
      stream: 'denial-org_1_20261120',
      type: 'access.denied',
      data: {
        credential_id: 'key_1',
        credential_type: 'project_key',
        project_id: 'proj_1',
        route: 'POST /v1/messages',
        code: 'api_key_revoked',
        count: 2,
      },
      metadata: { actor: { type: 'api_key', id: 'key_1' }, ip: '10.0.0.1', request_id: 'req_1' },
    });
    await records.write(true);
    expect(at.store.log.map(({ stream, data }) => [stream, data.count])).toEqual([
      ['denial-org_1_20261120', 2],
      ['denial-org_1_20261121', 1],
    ]);
  });
  test.each([500, 501])('of %i kinds at once fit into appends of half a mebibyte', async (count) => {
    let appends = 0;
    const counting = {
      ...at.store,
      append: (...all: Parameters<typeof at.store.append>) => {
        appends += 1;
        expect(JSON.stringify(all[1]).length).toBeLessThan(524_288);
        return at.store.append(...all);
      },
    };
    records = new AccessRecords(at.accessLog, sharedStreamWriter(counting, accessRecordSeconds), at.clock);
    for (let i = 0; i < count; i++) refuse({ id: `key_${String(i).padStart(26, '0')}` });
    await records.write(true);
    expect(appends).toBe(Math.ceil(count / 500));
    expect(at.store.log).toHaveLength(count);
  });
});

test('what could not be written is written next time, once', async () => {
  use('key_1');
  refuse();
  at.store.available = false;
  await expect(records.write(true)).rejects.toBeInstanceOf(StoreUnavailable);
  await expect(records.write(true)).rejects.toBeInstanceOf(StoreUnavailable);
  at.store.available = true;
  use('key_2');
  await records.write(true);
  await records.write(true);
  expect(at.store.log.map(({ type }) => type).sort()).toEqual(['access.denied', 'credential.used', 'credential.used']);
});
