export const valueAt = (document: unknown, path: readonly PropertyKey[]): unknown => {
  let value = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
};

/** Sorts paths in document order. Members are numbered once: many violations cost one reading. */
export const ranking = (document: unknown): ((path: readonly PropertyKey[]) => number[]) => {
  const places = new Map<object, Map<string, number>>();
  const placeOf = (object: object, step: PropertyKey): number => {
    if (Array.isArray(object)) return Number(step);
    let members = places.get(object);
    if (members === undefined) {
      members = new Map(Object.keys(object).map((name, at) => [name, at]));
      places.set(object, members);
    }
    return members.get(String(step)) ?? Number.MAX_SAFE_INTEGER;
  };
  return (path) => {
    const rank: number[] = [];
    let value = document;
    for (const step of path) {
      if (typeof value !== 'object' || value === null) return rank;
      rank.push(placeOf(value, step));
      value = valueAt(value, [step]);
    }
    return rank;
  };
};
