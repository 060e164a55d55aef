import type { MessagePieces } from './block-text.ts';
import { folded } from './fold.ts';
import { unpacked } from './leaves.ts';

/** Nothing below U+0300, the first combining mark, changes in NFC. The engine knows that of most strings unread. */
const mayChange = /[\u0300-\u{10ffff}]/u;

/** The text in NFC. */
const normal = (text: string): string => (mayChange.test(text) ? text.normalize('NFC') : text);

/**
 * Pieces of text, newline-joined, in NFC. Nothing composes across a line break, so joining texts that are in NFC
 * already gives the same.
 */
const joined = (pieces: readonly string[]): string => normal(pieces.length === 1 ? pieces[0]! : pieces.join('\n'));

/** Texts that are not empty, newline-joined. */
export const lines = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n');

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
  written: (pieces) => folded(pieces.map(unpacked).join('')),
  apart: (pieces) => folded(pieces.map(unpacked).join('\n')),
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
