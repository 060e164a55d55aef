const quote = '"';
const backslash = 0x5c;

/** Whether what stands there is behind an odd number of backslashes. */
const isEscaped = (document: string, at: number): boolean => {
  let before = at;
  while (document.charCodeAt(before - 1) === backslash) before -= 1;
  return (at - before) % 2 === 1;
};

/** Where strings of a valid JSON document begin and end, in turn. */
const endsOf = (document: string): readonly number[] => {
  const ends: number[] = [];
  for (let start = document.indexOf(quote); start !== -1; ) {
    let end = document.indexOf(quote, start + 1);
    while (end !== -1 && isEscaped(document, end)) end = document.indexOf(quote, end + 1);
    if (end === -1) break;
    ends.push(start, end);
    start = document.indexOf(quote, end + 1);
  }
  return ends;
};

/** What the string says whose quotes stand there. */
const saidAt = (document: string, start: number, end: number): string => {
  const written = document.slice(start + 1, end);
  return written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written;
};

/** Finds all strings of a valid JSON document, names of members among them, as they stand there. */
export const stringsOf = (document: string): { readonly count: number; readonly all: () => readonly string[] } => {
  const ends = endsOf(document);
  return {
    count: ends.length / 2,
    all: () =>
      Array.from({ length: ends.length / 2 }, (_, index) => saidAt(document, ends[2 * index]!, ends[2 * index + 1]!)),
  };
};

const bare = /[\w.+-]+/g;

/** All strings, names of members, numbers and booleans of a valid JSON document, in order and as often as they stand there. */
export const tokensOf = (document: string): readonly string[] => {
  const found: string[] = [];
  let from = 0;
  const readBare = (to: number): void => {
    for (const [token] of document.slice(from, to).matchAll(bare)) if (token !== 'null') found.push(token);
  };
  const ends = endsOf(document);
  for (let at = 0; at < ends.length; at += 2) {
    const [start, end] = [ends[at]!, ends[at + 1]!];
    if (start - from > 1) readBare(start);
    found.push(saidAt(document, start, end));
    from = end + 1;
  }
  readBare(document.length);
  return found;
};
