import { randomBytes } from 'node:crypto';
import { digest, newToken, tokenKind } from '../../src/ids.ts';
import type { Micro } from './loop.ts';

const keyCount = 100_000;

/** From the text of a key to who it is, as every request pays it: shape and checksum, SHA-256, look-up. */
export const credentialMicros = (): readonly Micro[] => {
  const pepper = randomBytes(32).toString('latin1');
  const tokens = Array.from({ length: keyCount }, () => newToken('p'));
  const known = new Map(tokens.map((token, i) => [digest(pepper, token), i]));
  const tokenAt = (turn: number): string => tokens[(turn * 7919) % keyCount]!;
  return [
    { name: 'shape and checksum of a key', run: (turn) => tokenKind(tokenAt(turn)) },
    { name: 'digest of a key', run: (turn) => digest(pepper, tokenAt(turn)) },
    { name: 'key to principal, 100,000 keys', run: (turn) => known.get(digest(pepper, tokenAt(turn))) },
  ];
};
