import type { Exchange } from './exchange.ts';

/** All bytes of a response. @throws as `Exchange.read` */
export const readWhole = async (exchange: Exchange): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for (let piece = await exchange.read(); piece !== null; piece = await exchange.read()) pieces.push(piece);
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
};
