const quote = '"';
const backslash = 0x5c;

/** Whether what stands there is behind an odd number of backslashes. */
const isEscaped = (document: string, at: number): boolean => {
  let before = at;
  while (document.charCodeAt(before - 1) === backslash) before -= 1;
  return (at - before) % 2 === 1;
};

/** Finds all strings of a valid JSON document, names of members among them, as they stand there. */
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

/**
 * Whether there may be a number that JSON.parse would change: a long one, one that ends in a zero behind its point, one with an
 * exponent, a very small one, a negative zero. Whoever reads the document is given the digits, and so are rules.
 */
export const isInexact = (document: string): boolean => inexact.test(document);
const inexact = /(?:^|[[:,])\s*(?:-?[\d.]{15}|-?\d+\.\d*0(?!\d)|-?[\d.]+[eE]|-?0\.0{6}|-0(?![.\d]))/;

/** Numbers, true and false. */
const words = /-?\d[\d.eE+-]*|true|false/g;

/**
 * What a valid JSON document says, in order: strings, names of members among them, and numbers by their digits. It is read as it
 * stands, for parsing gives the last of members that are named alike, and whoever reads the text has read all of them.
 */
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
