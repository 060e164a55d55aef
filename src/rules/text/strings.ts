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

/** How many strings a valid JSON document has, names of members among them: each has two quotes. */
export const countStrings = (document: string): number => {
  let quotes = 0;
  for (let at = document.indexOf(quote); at !== -1; at = document.indexOf(quote, at + 1)) {
    if (document.charCodeAt(at - 1) !== backslash || !isEscaped(document, at)) quotes += 1;
  }
  return quotes / 2;
};
