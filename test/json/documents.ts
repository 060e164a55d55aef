/** Random JSON texts, cheap enough for millions of them, and damaged copies. */

/** Random numbers that a seed repeats. */
export class Rolls {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 to below `most`. */
  below(most: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let word = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) % most;
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }
}

const blanks = ['', '', '', '', ' ', '\n', '\t ', '\r\n'];
const pieces = [
  ...['a', 'type', 'text', 'é', '漢', '😀', 'ab cd', 'x'.repeat(15), 'y'.repeat(16), 'z'.repeat(33), '{', ']', ','],
  ...['\\n', '\\"', '\\\\', '\\/', '\\u0041', '\\u00e9', '\\u6f22', '\\ud83d\\ude00', '\\u0000', '\\b', '\\f', '\\r'],
];
const numbers = [
  '0',
  '-0',
  '1',
  '-17',
  '0.5',
  '1.0',
  '3.14159',
  '9007199254740993',
  '123456789012345678901234567890',
  '1e5',
  '-1.5E-7',
];

const text = (rolls: Rolls): string => {
  let all = '';
  for (let left = rolls.below(4); left > 0; left--) all += rolls.of(pieces);
  return all;
};

const value = (rolls: Rolls, depth: number): string => {
  const roll = rolls.below(depth > 4 ? 6 : 10);
  if (roll < 3) return `"${text(rolls)}"`;
  if (roll === 3) return rolls.of(numbers);
  if (roll < 6) return rolls.of(['true', 'false', 'null']);
  return roll < 8 ? array(rolls, depth) : object(rolls, depth);
};

const array = (rolls: Rolls, depth: number): string => {
  const items = Array.from({ length: rolls.below(4) }, () => value(rolls, depth + 1) + rolls.of(blanks));
  return `[${items.join(`,${rolls.of(blanks)}`)}${rolls.of(blanks)}]`;
};

const object = (rolls: Rolls, depth: number): string => {
  const members = Array.from({ length: rolls.below(4) }, (_, at) => {
    // A number makes each name another.
    const name = `${rolls.of(['name', 'n\\u0061m\\u00e9\\n\\ud83d\\ude00', 'é', '', 'a long name of a member of this object'])}${at}`;
    return `"${name}"${rolls.of(blanks)}:${rolls.of(blanks)}${value(rolls, depth + 1)}`;
  });
  return `{${rolls.of(blanks)}${members.join(`${rolls.of(blanks)},`)}}`;
};

/** An object that contract A.3 accepts. */
export const randomDocument = (rolls: Rolls): string => rolls.of(blanks) + object(rolls, 0) + rolls.of(blanks);

const bytesOfInterest = Buffer.from('{}[]",:\\/u0189eE.-+tfn \n\x00\x1f\x7f\x80\xbf\xc3\xed\xf0\xff', 'latin1');

/** A copy with one to three bytes overwritten, put in, taken out or moved. */
export const mutant = (rolls: Rolls, bytes: Buffer): Buffer => {
  let damaged = bytes;
  for (let left = 1 + rolls.below(3); left > 0; left--) {
    const at = rolls.below(damaged.length + 1);
    const other = rolls.below(damaged.length + 1);
    const byte = bytesOfInterest.subarray(rolls.below(bytesOfInterest.length)).subarray(0, 1);
    const head = damaged.subarray(0, at);
    const how = rolls.below(5);
    if (how === 0) damaged = Buffer.concat([head, byte, damaged.subarray(at)]);
    else if (how === 1) damaged = Buffer.concat([head, byte, damaged.subarray(at + 1)]);
    else if (how === 2) damaged = Buffer.concat([head, damaged.subarray(at + 1)]);
    else if (how === 3) damaged = Buffer.concat([head, damaged.subarray(other)]);
    else damaged = Buffer.from(head);
  }
  return damaged;
};
