/** The texts that bytes may be: in UTF-8, in the character sets that they are said to be in, and in the one that their mark says. */

const charsets = /charset\s*=\s*["']?([^"';,\s]+)/gi;

const headBytes = 96;

/** By its mark, or by more than every other byte of its head being zero. */
export const utf16In = (bytes: Buffer): 'utf-16le' | 'utf-16be' | null => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes.length < 8) return null;
  const length = Math.min(headBytes, bytes.length & ~1);
  let [even, odd] = [0, 0];
  for (let at = 0; at < length; at += 2) {
    if (bytes[at] === 0) even += 1;
    if (bytes[at + 1] === 0) odd += 1;
  }
  return odd > length / 4 ? 'utf-16le' : even > length / 4 ? 'utf-16be' : null;
};

/** A set that nobody knows is none. */
const decoded = (bytes: Buffer, label: string): string => {
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return '';
  }
};

/** Nobody is believed who names a set, and no mark is; each set once. */
export const textsIn = (bytes: Buffer, mediaType: string): readonly string[] => {
  const named = [...mediaType.matchAll(charsets)].map(([, label]) => label!.toLowerCase());
  const marked = utf16In(bytes);
  return [...new Set([...(marked === null ? [] : [marked]), ...named, 'utf-8'])].map((label) => decoded(bytes, label));
};
