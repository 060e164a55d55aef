import type { MessagePieces } from './block-text.ts';
import { folded } from './fold.ts';
import { unpacked } from './leaves.ts';
import { inForm } from './normal-form.ts';

/** Nothing below U+0300, the first combining mark, changes in NFC. The engine knows that of most strings unread. */
const mayChange = /[\u0300-\u{10ffff}]/u;

/** The text in NFC. */
const normal = (text: string): string => (mayChange.test(text) ? inForm('NFC', text) : text);

/**
 * Pieces of text, newline-joined, in NFC. Nothing composes across a line break, so joining texts that are in NFC
 * already gives the same.
 */
const joined = (pieces: readonly string[]): string =>
  pieces.length === 0 ? '' : normal(pieces.length === 1 ? pieces[0]! : pieces.join('\n'));

/** Two texts, newline-joined where neither is empty. */
export const lines = (one: string, other: string): string =>
  one === '' ? other : other === '' ? one : `${one}\n${other}`;

const unpackedWith = (pieces: readonly string[], between: string): string => {
  if (pieces.length === 0) return '';
  return folded(pieces.length === 1 ? unpacked(pieces[0]!) : pieces.map(unpacked).join(between));
};

/** How the two copies of a text are made of its pieces (contract H, N16). */
export interface Copy {
  /** What was written one after the other. */
  readonly written: (pieces: readonly string[]) => string;
  /** What stands apart from each other. */
  readonly apart: (pieces: readonly string[]) => string;
  readonly one: (text: string) => string;
}

export const plainCopy: Copy = { written: joined, apart: joined, one: normal };

/** As a reader takes it: who writes one word in two blocks has written one word, and JSON is read without its escapes. */
export const foldedCopy: Copy = {
  written: (pieces) => unpackedWith(pieces, ''),
  apart: (pieces) => unpackedWith(pieces, '\n'),
  one: (text) => folded(unpacked(text)),
};

/** The whole text of a message. */
export const textOf = (copy: Copy, { text, beside }: MessagePieces): string =>
  lines(copy.written(text), copy.apart(beside));

/** Calls `make` on the first read and keeps what it gave. */
export const normalizedOnce = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};
