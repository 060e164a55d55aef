import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkpointText, notesIn, notesInPieces, parsedCheckpoint } from '../../src/merkle/checkpoint.ts';
import {
  isSignedWith,
  parsedNote,
  signatureOf,
  signed,
  signerOf,
  verifierOf,
  withSignatures,
} from '../../src/merkle/note.ts';

const seed = (name: string): Buffer => createHash('sha256').update(name).digest();
const signer = signerOf('weir/log', seed('a'));
const other = signerOf('weir/log', seed('b'));

/** The example of golang.org/x/mod/sumdb/note, whose key is public. */
const goVerifier = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const goNote = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.

\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`;

describe('a signed note', () => {
  test('of Go’s own example is read, and its signature is right', () => {
    const verifier = verifierOf(goVerifier);
    expect(verifier?.text).toBe(goVerifier);
    expect(isSignedWith(parsedNote(goNote)!, verifier!)).toBe(true);
    expect(isSignedWith(parsedNote(goNote.replace('your problem,', 'my problem,'))!, verifier!)).toBe(false);
  });

  test('is read as it was written, for its key and for no other', () => {
    const note = parsedNote(signed('a\n\nb\n', signer))!;
    expect(note.text).toBe('a\n\nb\n');
    expect(isSignedWith(note, signer.verifier)).toBe(true);
    expect(isSignedWith(note, other.verifier)).toBe(false);
    const both = parsedNote(
      withSignatures({
        ...note,
        signatures: [...note.signatures, ...parsedNote(signed(note.text, other))!.signatures],
      }),
    )!;
    expect([signer, other].map(({ verifier }) => isSignedWith(both, verifier))).toEqual([true, true]);
  });

  test('with one other character is no note, or not signed', () => {
    const whole = signed(checkpointText({ origin: 'weir/log', size: 7, root: seed('root') }), signer);
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }),
        (at, char) => {
          fc.pre(whole[at] !== char);
          const note = parsedNote(whole.slice(0, at) + char + whole.slice(at + 1));
          expect(note !== undefined && isSignedWith(note, signer.verifier)).toBe(false);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('keys are read from their text, and not from another', () => {
    const { text } = signer.verifier;
    expect(verifierOf(text)?.text).toBe(text);
    for (const wrong of [
      '',
      'a',
      text.replace('weir/log', 'weir/lop'),
      `${text}A`,
      text.replace('+', ' '),
      ` ${text}`,
    ]) {
      expect(verifierOf(wrong)).toBeUndefined();
    }
    expect(signatureOf('\u2014 a AAAA')).toBeUndefined();
  });
});

describe('a checkpoint', () => {
  const at = (size: number) => signed(checkpointText({ origin: 'weir/log', size, root: seed(`${size}`) }), signer);

  test('is read as it was written', () => {
    expect(parsedCheckpoint(at(12))).toMatchObject({ origin: 'weir/log', size: 12, root: seed('12'), signed: at(12) });
    for (const text of ['weir\n012\n', 'weir\n-1\n', 'weir\n1e3\n', '\n1\n']) {
      expect(parsedCheckpoint(signed(`${text}${seed('r').toString('base64')}\n`, signer))).toBeUndefined();
    }
  });

  test('stands in a file behind others', () => {
    expect(notesIn(at(1) + at(2) + at(30))).toEqual({ notes: [at(1), at(2), at(30)], rest: '' });
    expect(notesIn(`hello\n${at(1)}broken`)).toEqual({ notes: [at(1)], rest: 'hello\nbroken' });
    expect(notesIn('')).toEqual({ notes: [], rest: '' });
  });

  test('is found in a text that comes in pieces, wherever they end, with all that stands between two', () => {
    const [one, two] = [at(1), parsedNote(at(20))!];
    const cosigned = withSignatures({
      ...two,
      signatures: [...two.signatures, ...parsedNote(signed(two.text, other))!.signatures],
    });
    const file = `hello\n${one}${cosigned}${cosigned.slice(0, 90)}\n${at(300)}${at(4000)}the end`;
    const whole = notesIn(file);
    expect(whole.notes).toEqual([one, cosigned, at(300), at(4000)]);
    for (let cut = 0; cut <= file.length; cut++) {
      const told = [...notesInPieces([file.slice(0, cut), file.slice(cut, cut + 100), file.slice(cut + 100)])];
      expect(told.flatMap(({ notes }) => notes)).toEqual(whole.notes);
      const rest = told.map(({ rest }) => rest).filter((text) => text !== '');
      expect(rest.join('\n')).toBe(whole.rest);
    }
  });

  test('is found behind what is left of another, wherever its write broke off', () => {
    const cosigned = withSignatures({
      ...parsedNote(at(2))!,
      signatures: [...parsedNote(at(2))!.signatures, ...parsedNote(signed(parsedNote(at(2))!.text, other))!.signatures],
    });
    for (let end = 1; end < cosigned.length; end++) {
      const left = cosigned.slice(0, end);
      const { notes } = notesIn(`${at(1)}${left}${left.endsWith('\n') ? '' : '\n'}${at(3)}`);
      const found = notes.flatMap((note) => parsedCheckpoint(note) ?? []);
      expect(found.every(({ note }) => isSignedWith(note, signer.verifier))).toBe(true);
      expect(found.map(({ size }) => size).filter((size) => size !== 2)).toEqual([1, 3]);
    }
  });
});
