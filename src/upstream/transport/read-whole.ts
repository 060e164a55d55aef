import type { Exchange } from './exchange.ts';

/** All bytes of a response, which may come one by one: none of its pieces is kept. @throws as `Exchange.read` */
export const readWhole = async (exchange: Pick<Exchange, 'read'>): Promise<Buffer> => {
  let whole = await exchange.read();
  if (whole === null) return Buffer.alloc(0);
  let length = whole.length;
  for (let piece = await exchange.read(); piece !== null; piece = await exchange.read()) {
    const needed = length + piece.length;
    if (needed > whole.length) {
      const wider = Buffer.allocUnsafe(Math.max(needed, 2 * whole.length));
      whole.copy(wider, 0, 0, length);
      whole = wider;
    }
    piece.copy(whole, length);
    length = needed;
  }
  return whole.subarray(0, length);
};
