import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { openSecret, type Seal, type SealedBox, sealSecret } from '../../src/admin/sealed-secret.ts';

const value = 'gwp_a_value_with_ümlauts';
const seal: Seal = {
  masterKey: randomBytes(32),
  dayKey: randomBytes(32),
  callerSecret: 'caller',
  idempotencyKey: 'some-key',
  scope: '["org_1","akey_1","POST","/v1/x","some-key"]',
  resourceId: 'key_1',
  fingerprint: 'f'.repeat(64),
};
const box = sealSecret(seal, '2026-11-20', value);

const flipped = (text: string): string => {
  const bytes = Buffer.from(text, 'base64url');
  bytes[0]! ^= 1;
  return bytes.toString('base64url');
};

describe('a sealed secret', () => {
  test('opens with what it was sealed with, names its day, and is never sealed twice alike', () => {
    expect(openSecret(seal, box)).toBe(value);
    expect(box.day).toBe('2026-11-20');
    const again = sealSecret(seal, '2026-11-20', value);
    for (const part of ['iv', 'box', 'tag'] as const) expect(again[part]).not.toBe(box[part]);
  });

  test.each(Object.keys(seal) as (keyof Seal)[])('does not open with another %s', (part) => {
    const other = part === 'masterKey' || part === 'dayKey' ? randomBytes(32) : `${seal[part]}x`;
    expect(openSecret({ ...seal, [part]: other }, box)).toBeNull();
  });

  test('does not open when a character has moved from one part to the next', () => {
    const callerSecret = seal.callerSecret.slice(0, -1);
    const idempotencyKey = seal.callerSecret.slice(-1) + seal.idempotencyKey;
    expect(openSecret({ ...seal, callerSecret, idempotencyKey }, box)).toBeNull();
    const resourceId = seal.resourceId + seal.fingerprint[0];
    expect(openSecret({ ...seal, resourceId, fingerprint: seal.fingerprint.slice(1) }, box)).toBeNull();
  });

  test.each(['iv', 'box', 'tag'] as const)('does not open with a changed %s', (part) => {
    expect(openSecret(seal, { ...box, [part]: flipped(box[part]) })).toBeNull();
  });

  test('does not open with a part of its tag, which would be guessed sooner', () => {
    for (const length of [4, 12, 15]) {
      const tag = Buffer.from(box.tag, 'base64url').subarray(0, length).toString('base64url');
      expect(openSecret(seal, { ...box, tag } satisfies SealedBox), `${length} bytes`).toBeNull();
    }
  });
});
