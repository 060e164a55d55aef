import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressRange } from '../../src/limits/address-range.ts';
import { FailedAttempts } from '../../src/limits/failed-attempts.ts';

describe('failed authentication', () => {
  test('is answered 401 sixty times a minute and address, then 429 until the sixtieth newest is a minute old', () => {
    const failed = new FailedAttempts();
    for (let n = 0; n < 60; n++) expect(failed.count('192.0.2.1', n * 10)).toBe(0);
    expect(failed.count('192.0.2.1', 1_000)).toBe(60);
    expect(failed.count('192.0.2.2', 1_000)).toBe(0);
    // The refused one counts: the sixtieth newest is now the one at 10 ms.
    expect(failed.count('192.0.2.1', 60_009)).toBe(1);
    expect(failed.count('192.0.2.1', 61_000)).toBe(0);
  });

  test('agrees with a list of times, over gaps of days', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(3), fc.oneof(fc.nat(20_000), fc.nat(90_000), fc.nat(30 * 86_400_000)))),
        (all) => {
          const failed = new FailedAttempts({ perMinute: 3 });
          const times: number[][] = [[], [], [], []];
          let now = 0;
          for (const [address, after] of all) {
            now += after;
            const seen = times[address]!;
            const inWindow = seen.filter((at) => now - at < 60_000).length;
            seen.push(now);
            const seconds = failed.count(`10.0.0.${address}`, now);
            expect(seconds > 0).toBe(inWindow >= 3);
            if (seconds > 0) expect(seconds).toBe(Math.max(1, Math.ceil((seen.at(-3)! + 60_000 - now) / 1000)));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('keeps ten thousand addresses apart, in less than 32 MB', () => {
    const addresses = Array.from({ length: 10_000 }, (_, n) => `10.1.${n % 100}.${Math.floor(n / 100)}`);
    const before = process.memoryUsage().rss;
    const failed = new FailedAttempts();
    let refused = 0;
    for (let n = 0; n < 700_000; n++) if (failed.count(addresses[n % 10_000]!, n / 50) > 0) refused++;
    expect(failed.size).toBe(10_000);
    expect(refused).toBe(100_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1_048_576);
  });

  test('holds no more addresses than it has room for, and loses no count to newcomers', () => {
    const failed = new FailedAttempts({ addresses: 100, perMinute: 5 });
    for (let n = 0; n < 100; n++) for (let again = 0; again < 5; again++) expect(failed.count(`a${n}`, 0)).toBe(0);
    // A hundred newcomers share one counter, and the old ones stay refused.
    const fresh = Array.from({ length: 100 }, (_, n) => failed.count(`b${n}`, 10));
    expect(fresh.filter((seconds) => seconds === 0)).toHaveLength(5);
    for (let n = 0; n < 100; n++) expect(failed.count(`a${n}`, 20)).toBeGreaterThan(0);
    expect(failed.size).toBe(100);
    for (let n = 0; n < 100; n++) expect(failed.count(`c${n}`, 61_000)).toBe(0);
    expect(failed.size).toBe(100);
  });
});

describe('the range of an address', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['0000:0000:0000:0000:0000:ffff:c000:0207', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002:ffff::1', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::', '0:0:0:0'],
    ['::1', '0:0:0:0'],
    ['1::2::3', '1::2::3'],
    ['1:2:3', '1:2:3'],
    ['12345::', '12345::'],
    ['', ''],
  ])('%s is %s', (address, range) => expect(addressRange(address)).toBe(range));
});
