import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret } from '../../src/secrets/secret.ts';

test('a secret is shown by nothing but reveal', () => {
  const secret = new Secret('sk-upstream');
  expect(secret.reveal()).toBe('sk-upstream');
  for (const shown of [String(secret), `${secret}`, inspect(secret), inspect({ secret })])
    expect(shown).toContain('[secret]');
  expect(JSON.stringify({ secret })).toBe('{"secret":"[secret]"}');
  expect(inspect({ secret }, { showHidden: true, depth: 9 })).not.toContain('sk-upstream');
});

test('it takes itself out of what others say, wherever it stands in it', () => {
  const secret = new Secret('sk-1');
  expect(secret.hideIn('bad key sk-1: sk-1 is not known')).toBe('bad key [key]: [key] is not known');
  expect(secret.hideIn('nothing of it')).toBe('nothing of it');
});

test('an empty one leaves every text as it is', () => {
  expect(new Secret('').hideIn('any text')).toBe('any text');
});
