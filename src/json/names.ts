import type { Document } from './document.ts';

/** Whether the name at an entry is one of these. */
export const nameSet = (names: readonly string[]): ((tape: Document, at: number) => boolean) => {
  const byLength: Buffer[][] = Array.from({ length: Math.max(...names.map(({ length }) => length)) + 1 }, () => []);
  for (const name of names) byLength[name.length]!.push(Buffer.from(name));
  return (tape, at) => byLength[tape.end(at) - tape.start(at)]?.some((name) => tape.spells(at, name)) === true;
};
