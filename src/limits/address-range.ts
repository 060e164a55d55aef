/**
 * The key under which an address is counted: an IPv4 address, also if mapped into IPv6, or the first 64 bits of an IPv6 address.
 * Unspecified in F.3: a host usually has a whole /64, so a counter per IPv6 address would limit nothing.
 */
export const addressRange = (address: string): string => {
  if (!address.includes(':')) return address;
  const groups = groupsOf(address);
  if (groups === null) return address;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  if ((a | b | c | d | e) === 0 && f === 0xffff) return `${g >> 8}.${g & 0xff}.${h >> 8}.${h & 0xff}`;
  return `${a.toString(16)}:${b.toString(16)}:${c.toString(16)}:${d.toString(16)}`;
};

/** The eight numbers of an IPv6 address; null for other text. */
const groupsOf = (address: string): number[] | null => {
  // The zone is an interface of this host.
  const [text = ''] = address.split('%');
  const [left = '', right, ...more] = text.split('::');
  if (more.length > 0) return null;
  const [front, back] = [numbersOf(left), numbersOf(right ?? '')];
  if (front === null || back === null) return null;
  const missing = 8 - front.length - back.length;
  if (right === undefined ? missing !== 0 : missing < 0) return null;
  return [...front, ...new Array<number>(missing).fill(0), ...back];
};

const numbersOf = (text: string): number[] | null => {
  if (text === '') return [];
  const numbers: number[] = [];
  for (const part of text.split(':')) {
    const dotted = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(part);
    if (dotted) {
      const [a, b, c, d] = dotted.slice(1).map(Number) as [number, number, number, number];
      numbers.push((a << 8) | b, (c << 8) | d);
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) numbers.push(Number.parseInt(part, 16));
    else return null;
  }
  return numbers;
};
