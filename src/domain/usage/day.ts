const dayMs = 86_400_000;
/** A cache, since every account asks for its day. */
let last = { day: Number.NaN, name: '' };

/** `20261120`, in UTC. */
export const day = (at: number): string => {
  const number = Math.floor(at / dayMs);
  if (number !== last.day) last = { day: number, name: new Date(at).toISOString().slice(0, 10).replaceAll('-', '') };
  return last.name;
};
