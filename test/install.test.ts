import { expect, test } from 'vitest';
import { readGuide } from './support/guides.ts';

interface Locked {
  readonly optional?: boolean;
  readonly engines?: { readonly node?: string };
}
const { packages } = JSON.parse(readGuide('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };

/** Whether a range of Node's versions has this one. */
const admits = (range: string, major: number, minor: number): boolean =>
  range.split('||').some((each) => {
    const clause = each
      .trim()
      .replace(/\s*(>=|<)\s*/g, ' $1')
      .trim();
    const [, least = '', leastMinor = '0'] = /(\d+)(?:\.(\d+))?/.exec(clause) ?? [];
    if (clause === '*' || least === '') return true;
    const isLater = Number(least) < major || (Number(least) === major && Number(leastMinor) <= minor);
    const isSameMajor = Number(least) === major;
    const end = Number(/<(\d+)/.exec(clause)?.[1] ?? Number.POSITIVE_INFINITY);
    return isLater && major < end && (clause.startsWith('>=') || isSameMajor);
  });

test.each([
  ['>=22.0.0', false],
  ['^18.19.0 || >=20.6.0', true],
  ['^20.19.0 || >=22.12.0', true],
  ['^22.13.0 || >=23.5.0', false],
  ['>= 16', true],
  ['>=18 <20', false],
  ['10.* || >= 12.*', true],
  ['20 || >=22', true],
  ['*', true],
])('%s has Node 20.19: %s', (range, expected) => {
  expect(admits(range, 20, 19)).toBe(expected);
});

// The entry of openai is without its `engines`: the tests alone use it, and run with it on Node 20. npm takes them from the lock file.
test.each([
  [20, 19],
  [22, 12],
  [24, 0],
  [26, 0],
])('npm install warns of no package on Node %d.%d', (major, minor) => {
  const found = Object.entries(packages).filter(
    ([, { optional, engines }]) => !optional && engines?.node !== undefined && !admits(engines.node, major, minor),
  );
  expect(found.map(([name, { engines }]) => `${name} ${engines?.node}`)).toEqual([]);
});
