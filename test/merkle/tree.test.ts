// Lane: middle: it runs at length
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { grown, noLeaves, rootOfFrontier } from '../../src/merkle/frontier.ts';
import { consistencyProof, inclusionProof, isConsistent, isIncluded, rootOf } from '../../src/merkle/tree.ts';
import { leafOf, mth, path, proof, sourceOf } from './reference.ts';

// Hundreds of thousands of hashes, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 120_000 });

/** The leaves of Certificate Transparency's own tests of RFC 6962, and the roots of the first n of them. */
const inputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const vectors = inputs.map((hex) => leafOf(Buffer.from(hex, 'hex')));

const many = Array.from({ length: 66_000 }, (_, i) => leafOf(Buffer.from(String(i))));
const all = sourceOf(many);

describe('RFC 6962', () => {
  test('has these roots', () => {
    const source = sourceOf(vectors);
    expect(roots.map((_, size) => rootOf(source, size).toString('hex'))).toEqual(roots);
    expect(roots.map((_, size) => rootOfFrontier(grown(noLeaves, vectors.slice(0, size))).toString('hex'))).toEqual(
      roots,
    );
  });

  test('has these proofs: every leaf of every tree to 30, and some of each to 66 and beyond a tile', () => {
    for (const size of [...Array.from({ length: 66 }, (_, i) => i + 1), 255, 256, 257, 300]) {
      const leaves = many.slice(0, size);
      for (let index = 0; index < size; index += size > 30 ? 17 : 1) {
        expect(inclusionProof(all, index, size)).toEqual(path(index, leaves));
      }
    }
  });

  test('has these proofs of consistency: every two trees to 40', () => {
    for (let size = 0; size <= 40; size++) {
      for (let older = 0; older <= size; older++) {
        const hashes = consistencyProof(all, older, size);
        expect(hashes).toEqual(proof(older, many.slice(0, size)));
        const [one, two] = [older, size].map((each) => ({ size: each, root: mth(many.slice(0, each)) }));
        expect(isConsistent(one!, two!, hashes)).toBe(true);
      }
    }
  });
});

const flipped = (hash: Buffer, bit: number): Buffer => {
  const copy = Buffer.from(hash);
  copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return copy;
};

const anyBit = fc.nat(255);
const anySize = fc.oneof(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 65_000, max: many.length }));

const otherLengths = (hash: Buffer): Buffer[] => [hash.subarray(0, 31), Buffer.concat([hash, Buffer.of(0)])];

describe('proofs', () => {
  test('every leaf of every tree to 40, and some of each to 300, are included, and at no other place', () => {
    for (let size = 1; size <= 300; size++) {
      const root = rootOf(all, size);
      for (let index = 0; index < size; index += size > 40 ? 29 : 1) {
        const hashes = inclusionProof(all, index, size);
        expect(isIncluded(many[index]!, index, size, hashes, root)).toBe(true);
        expect(isIncluded(many[index]!, index + 1, size, hashes, root)).toBe(false);
        expect(isIncluded(many[index]!, size, size, hashes, root)).toBe(false);
      }
    }
  });

  test('with one flipped bit are refused, and so are a hash more and one less', () => {
    fc.assert(
      fc.property(anySize, fc.nat(), anyBit, fc.nat(), (size, at, bit, which) => {
        const index = at % size;
        const root = rootOf(all, size);
        const leaf = many[index]!;
        const hashes = inclusionProof(all, index, size);
        expect(isIncluded(leaf, index, size, hashes, root)).toBe(true);
        expect(isIncluded(flipped(leaf, bit), index, size, hashes, root)).toBe(false);
        expect(isIncluded(leaf, index, size, hashes, flipped(root, bit))).toBe(false);
        expect(isIncluded(leaf, index, size, [...hashes, leaf], root)).toBe(false);
        if (hashes.length === 0) return;
        const i = which % hashes.length;
        expect(isIncluded(leaf, index, size, hashes.with(i, flipped(hashes[i]!, bit)), root)).toBe(false);
        expect(isIncluded(leaf, index, size, hashes.toSpliced(i, 1), root)).toBe(false);
        for (const other of otherLengths(hashes[i]!))
          expect(isIncluded(leaf, index, size, hashes.with(i, other), root)).toBe(false);
        for (const other of otherLengths(leaf)) expect(isIncluded(other, index, size, hashes, root)).toBe(false);
      }),
    );
  });

  test('of consistency with one flipped bit are refused', () => {
    fc.assert(
      fc.property(anySize, fc.nat(), anyBit, fc.nat(), (size, at, bit, which) => {
        const older = 1 + (at % size);
        const [one, two] = [older, size].map((each) => ({ size: each, root: rootOf(all, each) }));
        const hashes = consistencyProof(all, older, size);
        expect(isConsistent(one!, two!, hashes)).toBe(true);
        expect(isConsistent({ ...one!, root: flipped(one!.root, bit) }, two!, hashes)).toBe(false);
        expect(isConsistent(one!, { ...two!, root: flipped(two!.root, bit) }, hashes)).toBe(false);
        expect(isConsistent(one!, two!, [...hashes, one!.root])).toBe(false);
        if (older === size) return;
        expect(isConsistent(two!, one!, hashes)).toBe(false);
        const i = which % hashes.length;
        expect(isConsistent(one!, two!, hashes.with(i, flipped(hashes[i]!, bit)))).toBe(false);
        expect(isConsistent(one!, two!, hashes.toSpliced(i, 1))).toBe(false);
        for (const other of otherLengths(hashes[i]!))
          expect(isConsistent(one!, two!, hashes.with(i, other))).toBe(false);
      }),
    );
  });
});

describe('the frontier', () => {
  test('grows, in whatever steps, to what the whole tree is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3000 }), fc.nat(700), (size, more) => {
        const from = grown(noLeaves, many.slice(0, size));
        const now = grown(from, many.slice(size, size + more));
        expect(now).toEqual(grown(noLeaves, many.slice(0, size + more)));
        expect(now.size).toBe(size + more);
        expect(rootOfFrontier(now)).toEqual(rootOf(all, size + more));
      }),
    );
  });
});
