import { expect, test } from 'vitest';
import { crc32c } from '../../src/lmdb-pages/crc32c.ts';

test('CRC-32C has its published check value, however the bytes are cut', () => {
  const digits = Buffer.from('123456789');
  expect(crc32c(digits, 0, 9)).toBe(0xe3069283);
  for (let cut = 0; cut <= 9; cut++) expect(crc32c(digits, cut, 9, crc32c(digits, 0, cut))).toBe(0xe3069283);
  expect(crc32c(Buffer.alloc(32), 0, 32)).toBe(0x8a9136aa);
});
