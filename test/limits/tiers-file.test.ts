import { describe, expect, test } from 'vitest';
import { tiers } from '../../src/domain/organization/tiers.ts';
import { countRequest } from '../../src/limits/count-request.ts';
import { inferenceWindows, plansOf } from '../../src/limits/families.ts';
import { parseTiers } from '../../src/limits/tiers/tiers-file.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';

const fault = (change: (rows: Record<string, unknown>[]) => void): string => {
  const rows = structuredClone(tiers) as unknown as Record<string, unknown>[];
  change(rows);
  try {
    parseTiers(JSON.stringify({ tiers: rows }));
  } catch (problem) {
    return (problem as Error).message;
  }
  return '';
};

describe('a tiers file', () => {
  test('gives the table that it declares', () => {
    expect(parseTiers(JSON.stringify({ tiers }))).toEqual(tiers);
    expect(plansOf(parseTiers(JSON.stringify({ tiers })))).toEqual(plansOf(tiers));
  });

  test('reports every fault with its place', () => {
    const message = fault((rows) => {
      rows[0]!.paid = 5;
      rows[1]!.rpm = 121;
      rows[2]!.tpd = -1;
      rows[3]!.subscription = 'Free';
      rows[4]!.paid = 200;
      rows[5]!.concurrent = { key: 4, project: 3, organization: 2 };
      rows[5]!.colour = 'red';
      rows[5]!.rpd = 9_000_000;
    });
    expect(message.split('\n')).toEqual([
      'The tiers file has 9 faults:',
      '  tiers[1].rpm: must be even: a project has one and a half times as much',
      '  tiers[2].tpd: must be at least 1',
      '  tiers[5].rpd: must be at most 4000000',
      expect.stringMatching(/^ {2}tiers\[5\]: .*colour/),
      '  tiers[0].paid: must be 0: everybody has tier 0',
      '  tiers[3].subscription: the subscription of tiers[0] too',
      '  tiers[4].paid: must be above the 200 of tiers[3]',
      '  tiers[5].concurrent.project: must not be below the 4 of the key',
      '  tiers[5].concurrent.organization: must not be below the 3 of the project',
    ]);
  });

  test.each([
    ['not JSON', '{', /not valid JSON/],
    ['another form', '[]', /\(root\)/],
    ['a tier too few', JSON.stringify({ tiers: tiers.slice(1) }), /tiers: must be six tiers/],
  ])('that is %s is refused', (_, text, message) => expect(() => parseTiers(text)).toThrow(message));

  test('can be put into force while requests are counted', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('k', 'p', 'o');
    for (let n = 0; n < 60; n++) expect(countRequest(store, me, n)).toBe(0);
    expect(countRequest(store, me, 60)).not.toBe(0);
    const doubled = tiers.map((row) => ({ ...row, rpm: row.rpm * 2 })) as unknown as typeof tiers;
    store.plans.replace(plansOf(doubled));
    expect(countRequest(store, me, 61)).toBe(0);
    store.plans.replace(plansOf(tiers));
    expect(countRequest(store, me, 62)).not.toBe(0);
  });

  test('that the layout cannot hold changes nothing', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const absurd = tiers.map((row) => ({ ...row, rpm: 100_000 })) as unknown as typeof tiers;
    expect(() => store.plans.replace(plansOf(absurd))).toThrow(RangeError);
    expect(() => store.plans.replace(plansOf(tiers).slice(1))).toThrow(RangeError);
    expect(countRequest(store, limitSubject('k', 'p', 'o'), 0)).toBe(0);
  });
});
