import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runningEndpoint, startEmbedded } from '../../src/embedded/index.ts';
import { ownKernel } from '../../src/embedded/lock/claim.ts';
import { isInUse, takeLock } from '../../src/embedded/lock/lock.ts';
import { verifyStore } from '../../src/embedded/maintenance/verify.ts';
import { collect, connect, freshDir, numbered, rejection, serveInChild } from './store-under-test.ts';

const locks = (dir: string) =>
  readdirSync(dir).filter((name) => name.startsWith('lock.') && !/\.(sock|won)$/.test(name));
/** What a holder leaves that is killed, by the name of its claim. */
const leftBehind = (dir: string, { kernel = ownKernel } = {}) => {
  const id = '0123456789abcdef';
  writeFileSync(join(dir, `lock.1.${id}.${kernel}.somewhere`), '');
  writeFileSync(join(dir, `lock.${id}.won`), '');
  return id;
};
/** A socket at which nobody listens any more. */
const deadSocket = (path: string) =>
  execFileSync(process.execPath, [
    '-e',
    `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
  ]);

describe('a stale lock', () => {
  test('of a process that nobody answers for is taken over at once', async () => {
    const dir = freshDir();
    const id = leftBehind(dir);
    expect(() => deadSocket(join(dir, `lock.${id}.sock`))).toThrow();
    const lock = await takeLock(dir);
    expect(lock.unclean).toBe(true);
    expect(locks(dir)).toHaveLength(1);
    lock.release();
    expect(readdirSync(dir)).toEqual([]);
  });

  test.each([
    ['of another boot', { kernel: '0123456789ab' }],
    ['without its socket', {}],
  ])('%s is taken over once its heartbeat has stood still', async (_, which) => {
    const dir = freshDir();
    leftBehind(dir, which);
    expect(await isInUse(dir)).toBe(false);
    const lock = await takeLock(dir);
    expect(lock.unclean).toBe(true);
    lock.release();
    expect(readdirSync(dir)).toEqual([]);
  });

  test('that is half removed is swept by the next, and what is new is left alone', async () => {
    const dir = freshDir();
    const [old, young] = ['lock.0123456789abcdef.sock', 'lock.fedcba9876543210.sock'];
    for (const name of [old, young]) writeFileSync(join(dir, name), '');
    utimesSync(join(dir, old), 0, 0);
    (await takeLock(dir)).release();
    expect(readdirSync(dir)).toEqual([young]);
  });
});

test('a holder whose claim somebody else has removed is told', async () => {
  const dir = freshDir();
  const lock = await takeLock(dir);
  rmSync(join(dir, locks(dir)[0]!));
  expect((await lock.lost).message).toContain(`has taken ${dir} over`);
  lock.release();
});

test('a store whose claim somebody else has removed ends', async () => {
  const dir = freshDir();
  const store = await startEmbedded({ dir });
  rmSync(join(dir, locks(dir)[0]!));
  expect((await store.failed).message).toContain('has taken');
  expect(existsSync(join(dir, 'closed'))).toBe(false);
  await store.close();
});

test('of many openers at once exactly one gets the store', async () => {
  for (let round = 0; round < 5; round++) {
    const dir = freshDir();
    expect(() => deadSocket(join(dir, `lock.${leftBehind(dir)}.sock`))).toThrow();
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => takeLock(dir)));
    const won = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(won).toHaveLength(1);
    expect(locks(dir)).toHaveLength(1);
    for (const { value } of won) value.release();
  }
});

test('of several processes at once exactly one gets the store', async () => {
  const dir = freshDir();
  const outcomes = await Promise.allSettled(Array.from({ length: 3 }, () => serveInChild(dir, { embedded: true })));
  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(String(outcome.reason)).toContain('refused StoreLocked');
  }
});

describe('the socket', () => {
  test('lies in the directory of the store, for its owner only, and is gone after the end', async () => {
    const dir = freshDir();
    const store = await startEmbedded({ dir, inThread: true });
    const path = join(dir, 'eventstore.sock');
    expect(store.endpoint).toBe(`unix:${path}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await store.close();
    expect(existsSync(path)).toBe(false);
  });

  test('moves into a private directory where the path is too long, counted in bytes', async () => {
    // 60 characters, 120 bytes.
    const dir = join(freshDir(), 'ü'.repeat(60));
    const store = await startEmbedded({ dir, inThread: true });
    const path = store.endpoint.slice('unix:'.length);
    expect(path.startsWith(tmpdir())).toBe(true);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    expect(await runningEndpoint(dir)).toBe(store.endpoint);
    const client = connect(store.endpoint);
    await client.appendToStream('long-1', numbered(1));
    await store.close();
    expect(existsSync(dirname(path))).toBe(false);
    const again = await startEmbedded({ dir, inThread: true });
    expect(await collect(connect(again.endpoint).readStream('long-1'))).toHaveLength(1);
    await again.close();
  });

  test('is a TCP port of the loopback interface only when asked for', async () => {
    const dir = freshDir();
    const store = await startEmbedded({ dir, port: 0, inThread: true });
    expect(store.endpoint).toMatch(/^127\.0\.0\.1:\d+$/);
    await connect(store.endpoint).appendToStream('tcp-1', numbered(1));
    await store.close();
  });
});

test('a directory that cannot be used is refused with one clear sentence', async () => {
  const file = join(freshDir(), 'file');
  writeFileSync(file, '');
  for (const dir of [join(file, 'below'), file, '/proc/nowhere']) {
    const error = await rejection(startEmbedded({ dir, inThread: true }));
    expect(error.message).toMatch(/^The event store cannot use .+: .+\.$/);
  }
});

describe('damaged files', () => {
  /** A store that was closed properly; `each` is called after each of its commits. */
  async function used(commits = 20, each: (dir: string) => void = () => {}): Promise<string> {
    const dir = freshDir();
    const store = await startEmbedded({ dir, inThread: true });
    const client = connect(store.endpoint);
    for (let i = 0; i < commits; i++) {
      await client.appendToStream(`file-${i}`, numbered(i));
      each(dir);
    }
    await store.close();
    return dir;
  }
  const change = (dir: string, edit: (bytes: Buffer) => Buffer) => {
    const file = join(dir, 'events.mdb');
    writeFileSync(file, edit(readFileSync(file)));
  };

  test('with a zeroed meta page are refused before LMDB opens them', async () => {
    for (const page of [0, 4096]) {
      const dir = await used();
      change(dir, (bytes) => bytes.fill(0, page, page + 4096));
      expect((await rejection(startEmbedded({ dir, inThread: true }))).name).toBe('StoreCorrupt');
      expect(locks(dir)).toEqual([]);
    }
  });

  test('with any flipped bit in the version or the flags are refused: LMDB dies of some of them', async () => {
    const dir = await used(20);
    const sound = readFileSync(join(dir, 'events.mdb'));
    for (const page of [0, 4096]) {
      for (const [field, length] of [
        [28, 4],
        [52, 2],
      ] as const) {
        for (let bit = 0; bit < length * 8; bit++) {
          change(dir, () => {
            const bytes: Buffer = Buffer.from(sound);
            bytes[page + field + (bit >> 3)]! ^= 1 << (bit & 7);
            return bytes;
          });
          const refusal = await rejection(startEmbedded({ dir, inThread: true }));
          expect(refusal.name, `page ${page}, field ${field}, bit ${bit}`).toBe('StoreCorrupt');
        }
      }
    }
  });

  test('with any flipped bit in a transaction id are refused, whichever commit is the last', async () => {
    // Which bits make the two pages change places depends on the last two bits of the transaction.
    for (const commits of [20, 21, 22, 23]) {
      const dir = await used(commits);
      const sound = readFileSync(join(dir, 'events.mdb'));
      // As kill -9 leaves it: what a proper stop puts down would find each of them.
      rmSync(join(dir, 'closed'));
      for (const page of [0, 4096]) {
        for (let bit = 0; bit < 16; bit++) {
          const bytes: Buffer = Buffer.from(sound);
          bytes[page + 152 + (bit >> 3)]! ^= 1 << (bit & 7);
          change(dir, () => bytes);
          expect((await rejection(startEmbedded({ dir, inThread: true }))).name, `page ${page}, bit ${bit}`).toBe(
            'StoreCorrupt',
          );
        }
      }
      change(dir, () => sound);
      const again = await startEmbedded({ dir, inThread: true });
      expect(await collect(connect(again.endpoint).readAll())).toHaveLength(commits);
      await again.close();
    }
  });

  describe('with a whole meta page that is one commit too old', () => {
    const files: Buffer[] = [];
    const stale = async () => {
      files.length = 0;
      const dir = await used(20, (at) => files.push(readFileSync(join(at, 'events.mdb'))));
      const [before, last] = files.slice(-2) as [Buffer, Buffer];
      const page = [0, 4096].find((at) => before.compare(last, at, at + 160, at, at + 160) !== 0)!;
      change(dir, (bytes) => {
        before.copy(bytes, page, page, page + 4096);
        return bytes;
      });
      return dir;
    };

    test('are refused after a proper stop, by verify too', async () => {
      const dir = await stale();
      const error = await rejection(startEmbedded({ dir, inThread: true }));
      expect(error.name).toBe('StoreCorrupt');
      expect(error.message).toMatch(/ends with transaction \d+ and was closed after \d+/);
      expect(await verifyStore(dir)).toMatchObject({ verdict: 'corrupt', damages: [{ what: error.message }] });
    });

    test('would be opened without what the stop has put down', async () => {
      const dir = await stale();
      rmSync(join(dir, 'closed'));
      const store = await startEmbedded({ dir, inThread: true });
      expect(await collect(connect(store.endpoint).readAll())).toHaveLength(19);
      await store.close();
    });
  });

  test('closed twice are as they were closed last, and while they are in use nothing says closed', async () => {
    const dir = await used();
    for (let round = 0; round < 2; round++) {
      expect(existsSync(join(dir, 'closed'))).toBe(true);
      const store = await startEmbedded({ dir, inThread: true });
      expect(existsSync(join(dir, 'closed'))).toBe(false);
      await connect(store.endpoint).appendToStream('again-1', numbered(round));
      expect(await verifyStore(dir)).toMatchObject({ verdict: 'ok', events: 21 + round });
      await store.close();
      expect(await verifyStore(dir)).toMatchObject({ verdict: 'ok', events: 21 + round });
    }
  });

  test('that end too early are found out in another process', async () => {
    const dir = await used();
    change(dir, (bytes) => bytes.subarray(0, 3 * 4096));
    const error = await rejection(startEmbedded({ dir, inThread: true }));
    expect(error.name).toBe('StoreCorrupt');
  });
});

test('a lock directory that vanishes is no live store', async () => {
  expect(await runningEndpoint(join(freshDir(), 'missing'))).toBeNull();
  const empty = freshDir();
  mkdirSync(join(empty, 'lock.1'));
  expect(await runningEndpoint(empty)).toBeNull();
});
