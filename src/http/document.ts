/** Reads what a path of member names and indexes points at, own members only. */
export const valueAt = (document: unknown, path: readonly PropertyKey[]): unknown => {
  let value = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
};

/** Where a path lies in the order in which the document was written; what is missing comes after what is there. */
export const rankOf = (document: unknown, path: readonly PropertyKey[]): number[] => {
  const rank: number[] = [];
  let value = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return rank;
    const at = Array.isArray(value) ? Number(step) : Object.keys(value).indexOf(String(step));
    rank.push(at === -1 ? Number.MAX_SAFE_INTEGER : at);
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return rank;
};
