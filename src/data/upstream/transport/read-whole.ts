import type { GenerateOptions } from '../port.ts';
import { appended } from './appended.ts';
import type { Exchange } from './exchange.ts';

export const readWhole = async (exchange: Pick<Exchange, 'read'>, hold?: GenerateOptions['hold']): Promise<Buffer> => {
  let whole = await exchange.read();
  if (whole === null) return Buffer.alloc(0);
  hold?.(whole.length);
  let length = whole.length;
  for (let piece = await exchange.read(); piece !== null; piece = await exchange.read()) {
    hold?.(piece.length);
    whole = appended(whole, length, piece);
    length += piece.length;
  }
  return whole.subarray(0, length);
};
