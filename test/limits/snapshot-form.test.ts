import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ChunkReader, ChunkWriter } from '../../src/limits/snapshot/snapshot-form.ts';

/** The texts as they are read from a chunk that they were written into. */
const throughChunk = (texts: readonly string[]): string[] => {
  const writer = new ChunkWriter('test', 0);
  for (const word of [1, 2, 3]) writer.u32(word);
  for (const text of texts) writer.text(text);
  const reader = ChunkReader.at(writer.finish(), 0, 'test');
  if (!(reader instanceof ChunkReader)) throw new Error(reader);
  return texts.map(() => reader.text());
};

test('texts come back, whatever characters are in them and where the buffer ends', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 255 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom('', 'é', `${'a'.repeat(253)}é`, `é${'a'.repeat(253)}`, 'a'.repeat(255)),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 600 }), (texts) => {
      const fit = texts.filter((each) => Buffer.byteLength(each) <= 255);
      expect(throughChunk(fit)).toEqual(fit);
    }),
    { numRuns: 100 },
  );
  const many = Array.from({ length: 2_000 }, (_, i) => `key_${'0'.repeat(i % 200)}`);
  expect(throughChunk(many)).toEqual(many);
});

test('a text has 255 bytes and no more', () => {
  for (const fits of ['a'.repeat(254), 'a'.repeat(255), `${'é'.repeat(127)}a`])
    expect(throughChunk([fits])).toEqual([fits]);
  for (const long of ['a'.repeat(256), 'é'.repeat(128), `${'a'.repeat(254)}é`]) {
    expect(() => throughChunk([long])).toThrow('An id is longer than 255 bytes.');
  }
});
