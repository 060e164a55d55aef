import { isUtf8 } from 'node:buffer';
import { type Edit, edited } from '../../../json/edits.ts';
import { isAt } from './event-frames.ts';
import { maxEventBytes } from './limits.ts';
import type { Passage } from './passage.ts';

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const ascii = 0x7f;
const simpleEscapes = Buffer.from('"\\/bfnrt');
const zero = 0x30;
const nine = 0x39;

/** A value that differs between events: a string between its quotes, or an unsigned whole number. */
export interface Varying {
  readonly start: number;
  readonly end: number;
  readonly is: 'text' | 'padding' | 'number';
}

interface Part {
  /** The constant bytes before a value, or after the last. */
  readonly bytes: Buffer;
  /** What goes out in their place; null for themselves. */
  readonly sent: Buffer | null;
  readonly next: Varying['is'] | null;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= nine;

/**
 * Most events of a stream differ only in a few values, one of them the text. If the other bytes equal those of the
 * last event, so does the meaning, and the event need not be parsed.
 */
export class AlikeEvents {
  /** Empty until an event is learnt. */
  #parts: readonly Part[] = [];
  #starts: number[] = [];
  #isChanged = false;
  /** Of the last event that was passed. */
  textBytes = 0;

  /** @param varying in their order. @param edits in theirs, between the values */
  learn(event: Buffer, varying: readonly Varying[], edits: readonly Edit[]): void {
    const parts: Part[] = [];
    let from = 0;
    for (let index = 0; index <= varying.length; index++) {
      const value = varying[index];
      const bytes = Buffer.from(event.subarray(from, value?.start));
      parts.push({ bytes, sent: edits.length === 0 ? null : sentFor(bytes, from, edits), next: value?.is ?? null });
      from = value?.end ?? from;
    }
    this.#parts = parts;
    this.#starts = parts.map(() => 0);
    this.#isChanged = edits.length > 0;
  }

  /** Passes the event there if it is like the last. Returns its end, or -1. */
  pass(events: Buffer, from: number, passed: Passage): number {
    const end = this.#endOf(events, from);
    // One above the limit is for the reader to refuse.
    if (end === -1 || end - from > maxEventBytes) return -1;
    let start = from;
    for (let index = 0; this.#isChanged && index < this.#parts.length; index++) {
      const { bytes, sent } = this.#parts[index]!;
      if (sent === null) continue;
      passed.pass(events, start, this.#starts[index]!);
      passed.put(sent);
      start = this.#starts[index]! + bytes.length;
    }
    passed.pass(events, start, end);
    return end;
  }

  #endOf(events: Buffer, from: number): number {
    const parts = this.#parts;
    let at = parts.length === 0 ? -1 : from;
    this.textBytes = 0;
    for (let index = 0; index < parts.length && at !== -1; index++) {
      const { bytes, next } = parts[index]!;
      if (!isAt(events, at, bytes)) return -1;
      this.#starts[index] = at;
      at += bytes.length;
      if (next === 'number') at = numberEnd(events, at);
      else if (next !== null) at = this.#textEnd(events, at, next === 'text');
    }
    return at;
  }

  #textEnd(events: Buffer, start: number, isText: boolean): number {
    let escapes = 0;
    let bits = 0;
    let at = start;
    for (; events[at] !== quote; at++) {
      // What is no JSON is for the reader to refuse.
      if (at >= events.length || events[at]! < space) return -1;
      bits |= events[at]!;
      if (events[at] !== backslash) continue;
      // One byte each; \u is one to four.
      if (!simpleEscapes.includes(events[at + 1]!)) return -1;
      escapes += 1;
      at += 1;
    }
    if (bits > ascii && !isUtf8(events.subarray(start, at))) return -1;
    if (isText) this.textBytes += at - start - escapes;
    return at;
  }
}

/** -1 for what is no JSON, such as a zero before another digit. */
const numberEnd = (events: Buffer, start: number): number => {
  let at = start;
  while (isDigit(events[at])) at++;
  return at === start || (events[start] === zero && at > start + 1) ? -1 : at;
};

/** A part that begins there, with the edits in it; null without any. */
const sentFor = (part: Buffer, from: number, edits: readonly Edit[]): Buffer | null => {
  const within = edits.filter(({ start, end }) => start >= from && end <= from + part.length);
  if (within.length === 0) return null;
  return edited(
    part,
    within.map(({ start, end, text }) => ({ start: start - from, end: end - from, text })),
  );
};
