import type { Document } from './document.ts';

/** Names as bytes, to compare them with a tape's. */
export const named = <const T extends string>(...names: readonly T[]): Readonly<Record<T, Buffer>> =>
  Object.fromEntries(names.map((name) => [name, Buffer.from(name)])) as Record<T, Buffer>;

/** What belongs to the name at an entry. The length separates most names. */
export const nameTable = <T>(values: Readonly<Record<string, T>>): ((tape: Document, at: number) => T | undefined) => {
  const byLength: { readonly name: Buffer; readonly value: T }[][] = [];
  for (const [text, value] of Object.entries(values)) {
    const name = Buffer.from(text);
    for (let length = byLength.length; length <= name.length; length++) byLength.push([]);
    byLength[name.length]!.push({ name, value });
  }
  return (tape, at) => {
    const alike = byLength[tape.end(at) - tape.start(at)];
    if (alike === undefined) return undefined;
    for (let i = 0; i < alike.length; i++) if (tape.spells(at, alike[i]!.name)) return alike[i]!.value;
    return undefined;
  };
};

/** Whether the name at an entry is one of these. */
export const nameSet = (names: readonly string[]): ((tape: Document, at: number) => boolean) => {
  const table = nameTable(Object.fromEntries(names.map((name) => [name, true])));
  return (tape, at) => table(tape, at) === true;
};
