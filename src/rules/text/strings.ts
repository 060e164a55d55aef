const quote = '"';
const backslash = 0x5c;

/** Whether an odd number of backslashes precedes. */
const isEscaped = (document: string, at: number): boolean => {
  let before = at;
  while (document.charCodeAt(before - 1) === backslash) before -= 1;
  return (at - before) % 2 === 1;
};

/** Finds all strings of a valid JSON document, including names. */
export const stringsOf = (document: string): { readonly count: number; readonly all: () => readonly string[] } => {
  const ends: number[] = [];
  for (let start = document.indexOf(quote); start !== -1; ) {
    let end = document.indexOf(quote, start + 1);
    while (end !== -1 && isEscaped(document, end)) end = document.indexOf(quote, end + 1);
    if (end === -1) break;
    ends.push(start, end);
    start = document.indexOf(quote, end + 1);
  }
  return {
    count: ends.length / 2,
    all: () =>
      Array.from({ length: ends.length / 2 }, (_, index) =>
        String(JSON.parse(document.slice(ends[2 * index], ends[2 * index + 1]! + 1))),
      ),
  };
};

/** Whether JSON.parse may change a number: long, trailing zeros, exponents, very small, negative zero. */
export const isInexact = (document: string): boolean => inexact.test(document);
const inexact = /(?:^|[[:,])\s*(?:-?[\d.]{15}|-?\d+\.\d*0(?!\d)|-?[\d.]+[eE]|-?0\.0{6}|-0(?![.\d]))/;

const words = /-?\d[\d.eE+-]*|true|false/g;

/** Strings and numbers of a valid JSON document in order. Not parsed, because parsing drops repeated members. */
export const saidIn = (document: string): readonly string[] => {
  const said: string[] = [];
  let from = 0;
  const addBetween = (to: number): void => {
    for (const word of document.slice(from, to).match(words) ?? []) said.push(word);
  };
  for (let start = document.indexOf(quote); start !== -1; start = document.indexOf(quote, from)) {
    addBetween(start);
    let end = document.indexOf(quote, start + 1);
    while (isEscaped(document, end)) end = document.indexOf(quote, end + 1);
    from = end + 1;
    const written = document.slice(start, from);
    said.push(written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1));
  }
  addBetween(document.length);
  return said;
};
