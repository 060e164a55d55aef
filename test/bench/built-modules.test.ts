import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('a peer loads the built form of the very modules whose types it names', () => {
  const source = readFileSync('bench/peers/empty-framing.ts', 'utf8');
  const named = [
    ...source.matchAll(/built<typeof import\('\.\.\/\.\.\/src\/embedded\/([^']+)\.ts'\)>\('([^']+)\.js'\)/g),
  ];
  expect(named.length).toBe(source.match(/await built</g)?.length);
  expect(named.map(([, module]) => module)).toEqual(named.map(([, , built]) => built));
});
