/**
 * The tokenizer of simulated models: a token is up to four characters that are not white space, with one white space
 * before them if there is any, or a single white space. It matches from the left, so a prefix of tokens is tokenized
 * into the same tokens.
 */
const token = /\s?\S{1,4}|\s/gu;

export const tokenize = (text: string): readonly string[] => text.match(token) ?? [];

export const countTokens = (text: string): number => {
  let count = 0;
  token.lastIndex = 0;
  while (token.test(text)) count += 1;
  return count;
};

const groupPatterns = new Map<number, RegExp>();

/** The text in pieces of so many tokens, the last perhaps shorter. */
export const tokenGroups = (text: string, size: number): readonly string[] => {
  if (size === 1) return tokenize(text);
  let pattern = groupPatterns.get(size);
  if (pattern === undefined) {
    pattern = new RegExp(`(?:\\s?\\S{1,4}|\\s){1,${size}}`, 'gu');
    groupPatterns.set(size, pattern);
  }
  return text.match(pattern) ?? [];
};
