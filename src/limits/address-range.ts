/**
 * The range that one client address stands for: an IPv4 address alone, of IPv6 the first 64 bits, as text that is the same
 * for every spelling. An IPv4 address in IPv6 dress counts as IPv4.
 *
 * Unspecified: IPv6. F.3 says "per client address"; but a host is given a whole /64, so a counter per address would count
 * nothing.
 */
export const addressRange = (address: string): string => {
  if (!address.includes(':')) return address;
  const groups = groupsOf(address);
  if (groups === null) return address;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  if ((a | b | c | d | e) === 0 && f === 0xffff) return `${g >> 8}.${g & 0xff}.${h >> 8}.${h & 0xff}`;
  return `${a.toString(16)}:${b.toString(16)}:${c.toString(16)}:${d.toString(16)}`;
};

/** The eight numbers of an IPv6 address; null for what is none. */
const groupsOf = (address: string): number[] | null => {
  // A zone says which interface a link-local address belongs to, not whose it is.
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
