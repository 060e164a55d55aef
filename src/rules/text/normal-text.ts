import { maxScanned } from '../language/limits.ts';
import type { MessagePieces } from './block-text.ts';
import { foldedWithin } from './fold.ts';
import { unpacked } from './leaves.ts';
import { inForm, noRoom, type Room } from './normal-form.ts';

/** NFC changes nothing below U+0300, the first combining mark. */
const mayChange = /[\u0300-\u{10ffff}]/u;

/** Joins two texts with a line feed unless one is empty. */
export const lines = (one: string, other: string): string =>
  one === '' ? other : other === '' ? one : `${one}\n${other}`;

/**
 * One of the two copies of a view's texts (contract H). The folded copy joins pieces without separators and reads JSON without
 * escapes. All texts share the room for growth; without room the methods throw UnreadableText.
 */
export class Copy {
  readonly isFolded: boolean;
  readonly #room: Room = { left: maxScanned };

  constructor(isFolded: boolean) {
    this.isFolded = isFolded;
  }

  written(pieces: readonly string[]): string {
    return this.#joined(pieces, this.isFolded ? '' : '\n');
  }

  apart(pieces: readonly string[]): string {
    return this.#joined(pieces, '\n');
  }

  one(text: string): string {
    return this.#formed(this.isFolded ? unpacked(text) : text);
  }

  /** Nothing composes across a line feed, so texts in NFC can be joined. */
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

export const textOf = (copy: Copy, { text, beside }: MessagePieces): string =>
  lines(copy.written(text), copy.apart(beside));

/** Calls `make` once and keeps its result or error. */
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
