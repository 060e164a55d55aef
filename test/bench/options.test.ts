import { InvalidArgumentError } from 'commander';
import { describe, expect, test } from 'vitest';
import { crowdsOf } from '../../bench/load.ts';
import {
  arrivalsOf,
  cores,
  durationBetween,
  httpUrl,
  namedUrl,
  numberBetween,
  oneOf,
  share,
  slo,
  tierMix,
  wholeBetween,
} from '../../bench/options.ts';
import { addressOf } from '../../bench/target.ts';

describe('values of the command line', () => {
  test('are read', () => {
    expect(wholeBetween(1, 100)('100')).toBe(100);
    expect(numberBetween(0.2, 600)('0.2')).toBe(0.2);
    expect(['500ms', '30s', '2m', '1h', '7'].map(durationBetween(0.1, 3600))).toEqual([0.5, 30, 120, 3600, 7]);
    expect(['3%', '0.03', '0'].map(share)).toEqual([0.03, 0.03, 0]);
    expect(cores('server=0,gen=1')).toEqual({ server: 0, generator: 1 });
    expect(tierMix('free:90,t1:8, t5:2')).toEqual([
      { tier: 0, weight: 90 },
      { tier: 1, weight: 8 },
      { tier: 5, weight: 2 },
    ]);
    expect(slo('p99<5ms,err<0.1%')).toEqual([
      { figure: 'p99', below: 5 },
      { figure: 'err', below: 0.001 },
    ]);
    expect(slo('p99.9 < 500us')).toEqual([{ figure: 'p99.9', below: 0.5 }]);
    expect(namedUrl('b=http://b:2', namedUrl('a=http://a:1')).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test.each<[(text: string) => unknown, readonly string[]]>([
    [wholeBetween(1, 100), ['0', '101', '1.5', 'many', '1e1', '']],
    [numberBetween(0.2, 600), ['0.1', '601', 'NaN', '']],
    [durationBetween(0.2, 600), ['0.1', '601s', '5d', '11m', '']],
    [share, ['101%', '-1', '2', '', 'x']],
    [cores, ['0,1', 'server=0', 'server=a,gen=b']],
    [tierMix, ['free', 't6:1', 'free:0', '']],
    [slo, ['p98<5ms', 'p99<5%', 'err<5ms', 'p99>5ms', '']],
    [httpUrl, ['example.com', 'ftp://example.com', '']],
    [(text) => namedUrl(text), ['http://a', '=http://a', 'a=b']],
    [oneOf('a', 'b'), ['c', '']],
  ])('that make no sense are refused in a sentence %#', (read, texts) => {
    for (const text of texts) expect(() => read(text)).toThrow(InvalidArgumentError);
  });
});

describe('arrivals', () => {
  const duration = 30;

  test('are a closed loop, and with a rate an open one', () => {
    expect(arrivalsOf({ duration })).toEqual({ is: 'closed' });
    expect(arrivalsOf({ duration, rate: 10 })).toEqual({ is: 'poisson', rate: 10 });
    expect(arrivalsOf({ duration, rate: 10, arrivals: 'burst', burst: 5 })).toEqual({ is: 'burst', rate: 10, size: 5 });
    expect(arrivalsOf({ duration, rate: 10, arrivals: 'ramp', to: 100 })).toEqual({
      is: 'ramp',
      rate: 10,
      to: 100,
      seconds: 30,
    });
  });

  test.each([
    [{ arrivals: 'closed', rate: 10 }, /closed loop has no --rate/],
    [{ arrivals: 'poisson' }, /needs --rate/],
    [{ arrivals: 'ramp', rate: 1 }, /needs --to/],
    [{ arrivals: 'trace' }, /needs --trace/],
  ] as const)('%j are refused', (options, message) => {
    expect(() => arrivalsOf({ duration, ...options })).toThrow(message);
  });
});

test('an address is without a path', () => {
  expect(addressOf(new URL('https://gateway.example'))).toEqual({ host: 'gateway.example', port: 443, tls: true });
  expect(() => addressOf(new URL('http://127.0.0.1:8080/v1'))).toThrow(/without a path: http:\/\/127.0.0.1:8080/);
});

test('keys are spread over organizations of the tiers that were asked for', () => {
  const crowds = crowdsOf(100_000, tierMix('free:90,t5:10'));
  expect(crowds.map(({ tier, organizations, keys }) => [tier, organizations * keys])).toEqual([
    [0, 90_000],
    [5, 10_000],
  ]);
  expect(crowdsOf(1, tierMix('t5:1'))).toEqual([{ organizations: 1, projects: 2, keys: 2, tier: 5 }]);
});
