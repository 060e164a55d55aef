export type Path = readonly (string | number)[];

export interface Wanted {
  /** @param beside all members of the object */
  is(name: string, value: unknown, beside: Readonly<Record<string, unknown>>): boolean;
  /** Whether to skip a value of this name. @param depth 0 at the top */
  isPassedOver(name: string, depth: number): boolean;
}

export const firstMember = (value: unknown, path: Path, wanted: Wanted, depth = 0): Path | null => {
  if (typeof value !== 'object' || value === null) return null;
  const members = value as Readonly<Record<string, unknown>>;
  for (const [name, inner] of Object.entries(members)) {
    const at = [...path, Array.isArray(value) ? Number(name) : name];
    if (!Array.isArray(value) && wanted.is(name, inner, members)) return at;
    const found = wanted.isPassedOver(name, depth) ? null : firstMember(inner, at, wanted, depth + 1);
    if (found !== null) return found;
  }
  return null;
};
