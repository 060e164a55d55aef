/**
 * The first `held` bytes of a buffer and `more` behind them: in the buffer itself where it has room for both, in one of at least
 * twice its size otherwise, so that what comes byte by byte is copied a few times and kept once.
 */
export const appended = (hold: Buffer, held: number, more: Buffer): Buffer => {
  const needed = held + more.length;
  const roomy = needed <= hold.length ? hold : Buffer.allocUnsafe(Math.max(needed, 2 * hold.length));
  if (roomy !== hold) hold.copy(roomy, 0, 0, held);
  more.copy(roomy, held);
  return roomy;
};
