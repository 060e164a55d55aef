import { maxScanned } from '../language/limits.ts';
import type { MessagePieces } from './block-text.ts';
import { foldedWithin } from './fold.ts';
import { unpacked } from './leaves.ts';
import { inForm, noRoom, type Room } from './normal-form.ts';

/** Nothing below U+0300, the first combining mark, changes in NFC. The engine knows that of most strings unread. */
const mayChange = /[\u0300-\u{10ffff}]/u;

/** Two texts, newline-joined where neither is empty. */
export const lines = (one: string, other: string): string =>
  one === '' ? other : other === '' ? one : `${one}\n${other}`;

/**
 * One of the two copies of the texts of a request or answer (contract H). The folded one is as a reader takes it: who writes one
 * word in two blocks has written one word, and JSON is read without its escapes. All texts of a copy share the room to grow in: more
 * than rules may read is not made, and each of its methods throws an UnreadableText instead.
 */
export class Copy {
  readonly isFolded: boolean;
  readonly #room: Room = { left: maxScanned };

  constructor(isFolded: boolean) {
    this.isFolded = isFolded;
  }

  /** What was written one after the other. */
  written(pieces: readonly string[]): string {
    return this.#joined(pieces, this.isFolded ? '' : '\n');
  }

  /** What stands apart from each other. */
  apart(pieces: readonly string[]): string {
    return this.#joined(pieces, '\n');
  }

  one(text: string): string {
    return this.#formed(this.isFolded ? unpacked(text) : text);
  }

  /** Nothing composes across a line break, so joining texts that are in NFC already gives the same. */
  #joined(pieces: readonly string[], between: string): string {
    if (pieces.length < 2) return pieces.length === 0 ? '' : this.one(pieces[0]!);
    return this.#formed((this.isFolded ? pieces.map(unpacked) : pieces).join(between));
  }

  #formed(text: string): string {
    if (this.#room.left < 0) throw noRoom();
    if (this.isFolded) return foldedWithin(this.#room, text);
    return mayChange.test(text) ? inForm('NFC', text, this.#room) : text;
  }
}

/** The whole text of a message. */
export const textOf = (copy: Copy, { text, beside }: MessagePieces): string =>
  lines(copy.written(text), copy.apart(beside));

/** Calls `make` on the first read and keeps what it gave, or that it failed. */
export const normalizedOnce = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | { readonly error: unknown } | undefined;
  return () => {
    made ??= resultOf(make);
    if ('error' in made) throw made.error;
    return made.value;
  };
};

const resultOf = <T>(make: () => T): { readonly value: T } | { readonly error: unknown } => {
  try {
    return { value: make() };
  } catch (error) {
    return { error };
  }
};
