// Bytes as texts: in UTF-8, in declared character sets, and in UTF-16.

const charsets = /charset\s*=\s*["']?([^"';,\s]+)/gi;

const headBytes = 96;

/** By the byte order mark, or by zeros in more than half of every other byte. */
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

const decoded = (bytes: Buffer, label: string): string => {
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return '';
  }
};

/** All candidates count, because no declaration is trusted. */
export const textsIn = (bytes: Buffer, mediaType: string): readonly string[] => {
  const named = [...mediaType.matchAll(charsets)].map(([, label]) => label!.toLowerCase());
  const marked = utf16In(bytes);
  return [...new Set([...(marked === null ? [] : [marked]), ...named, 'utf-8'])].map((label) => decoded(bytes, label));
};
