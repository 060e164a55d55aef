/** Appends in place if there is room, else doubles: bytes that come one by one are copied a few times only. */
export const appended = (hold: Buffer, held: number, more: Buffer): Buffer => {
  const needed = held + more.length;
  const roomy = needed <= hold.length ? hold : Buffer.allocUnsafe(Math.max(needed, 2 * hold.length));
  if (roomy !== hold) hold.copy(roomy, 0, 0, held);
  more.copy(roomy, held);
  return roomy;
};
