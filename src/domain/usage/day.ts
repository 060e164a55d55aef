const dayMs = 86_400_000;
/** Of the day that was asked for last: every account of a request asks for its own. */
let last = { day: Number.NaN, name: '' };

/** `20261120`, in UTC: what the names of daily streams end with. */
export const day = (at: number): string => {
  const number = Math.floor(at / dayMs);
  if (number !== last.day) last = { day: number, name: new Date(at).toISOString().slice(0, 10).replaceAll('-', '') };
  return last.name;
};
