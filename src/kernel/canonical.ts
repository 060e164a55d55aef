/**
 * The one text of a JSON value: keys in the order of their UTF-16 code units, no white space, numbers and strings as
 * ECMAScript writes them (RFC 8785). Keys that hold undefined are left out, as `JSON.stringify` does, so a value and what
 * the store gives back for it have the same text.
 * @throws TypeError for what JSON cannot hold: functions, symbols, bigints, NaN and the infinities
 */
export const canonical = (value: unknown): string => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      if (Number.isFinite(value)) return JSON.stringify(value);
      break;
    case 'object':
      if (value === null) return 'null';
      if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
      return `{${members(value as Record<string, unknown>).join(',')}}`;
  }
  throw new TypeError(`not a JSON value: ${String(value)}`);
};

const members = (object: Record<string, unknown>): string[] =>
  Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(object[key])}`);
