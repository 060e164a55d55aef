import type { LookupAddress } from 'node:dns';
import { afterEach, describe, expect, test } from 'vitest';
import { isPrivateAddress } from '../../src/data/upstream/models/base-url.ts';
import { guardedLookup, type Resolve } from '../../src/data/upstream/transport/guarded-lookup.ts';
import { serve, upstreamAt } from './mock.ts';
import { options, request } from './requests.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const resolveTo =
  (...answers: readonly (readonly string[])[]): Resolve =>
  (_, __, callback) => {
    const next = answers.length > 1 ? (answers as string[][]).shift()! : answers[0]!;
    callback(
      null,
      next.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };

const look = (resolve: Resolve, all: boolean) =>
  new Promise<string | LookupAddress[]>((done, fail) => {
    guardedLookup((address) => !isPrivateAddress(address), resolve)('models.example', { all }, (error, address) =>
      error === null ? done(address) : fail(error),
    );
  });

describe('isPrivateAddress', () => {
  test.each([
    ...[
      '127.0.0.1',
      '127.255.255.255',
      '10.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '169.254.169.254',
      '0.0.0.0',
    ],
    ...[
      '100.64.0.1',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '::7f00:1',
    ],
    ...['64:ff9b::7f00:1', '2002:7f00:1::', 'fd12::1', 'fe80::1', 'ff02::1', 'not an address', ''],
  ])('%s is', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  test.each(['8.8.8.8', '172.15.0.1', '172.32.0.1', '11.0.0.1', '169.253.0.1', '2606:4700::1111', '2a00:1450::1'])(
    '%s is not',
    (address) => {
      expect(isPrivateAddress(address)).toBe(false);
    },
  );
});

describe('guardedLookup', () => {
  test('gives public addresses in the form asked for', async () => {
    expect(await look(resolveTo(['8.8.8.8', '2606:4700::1111']), false)).toBe('8.8.8.8');
    expect(await look(resolveTo(['8.8.8.8', '2606:4700::1111']), true)).toHaveLength(2);
  });

  test('refuses a name with one private address among public ones, and one with none at all', async () => {
    await expect(look(resolveTo(['8.8.8.8', '127.0.0.1']), true)).rejects.toThrow('private address');
    await expect(look(resolveTo([]), true)).rejects.toThrow('private address');
  });

  test('passes failures of the resolution on', async () => {
    const failing: Resolve = (_, __, callback) =>
      callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    await expect(look(failing, true)).rejects.toThrow('no such name');
  });
});

describe('an endpoint that is not declared private', () => {
  /** Connections that came in, and what the calls failed with, where a name resolves as told. */
  const dial = async (private_network: boolean, resolve: Resolve, rounds = 1) => {
    const mock = await serve((_, response) => response.end());
    const url = `https://models.example:${new URL(mock.url).port}`;
    const upstream = upstreamAt(url, { private_network, connect_timeout_ms: 50 }, { resolve });
    cleanups.push(
      () => mock.close(),
      () => upstream.close(),
    );
    const codes = new Set<string>();
    for (let round = 0; round < rounds; round += 1) {
      await upstream.answer(request(), options()).catch((error) => codes.add(error.code));
    }
    return { connections: mock.connections(), codes: [...codes] };
  };

  test('is not dialled when its name leads inside', async () => {
    expect(await dial(false, resolveTo(['127.0.0.1']))).toEqual({ connections: 0, codes: ['provider_error'] });
    expect(await dial(false, resolveTo(['8.8.8.8', '127.0.0.1']))).toEqual({
      connections: 0,
      codes: ['provider_error'],
    });
  });

  test('is not dialled when its name leads inside at a later connection', async () => {
    // 192.0.2.0/24 is nobody's: the first connection fails or hangs.
    expect(await dial(false, resolveTo(['192.0.2.1'], ['127.0.0.1']), 3)).toMatchObject({ connections: 0 });
  });

  test('canary: without the protection the same names are dialled', async () => {
    expect((await dial(true, resolveTo(['127.0.0.1']))).connections).toBeGreaterThan(0);
    expect((await dial(true, resolveTo(['192.0.2.1'], ['127.0.0.1']), 3)).connections).toBeGreaterThan(0);
  });
});
