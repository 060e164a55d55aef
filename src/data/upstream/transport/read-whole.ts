import type { GenerateOptions } from '../port.ts';
import { appended } from './appended.ts';
import type { Exchange } from './exchange.ts';

export const readWhole = async (
  exchange: Pick<Exchange, 'take' | 'change'>,
  hold?: GenerateOptions['hold'],
): Promise<Buffer> => {
  let whole = noBytes;
  let length = 0;
  for (;;) {
    const piece = exchange.take();
    if (piece === null) return length === whole.length ? whole : whole.subarray(0, length);
    if (piece === undefined) {
      // Most answers have come in one piece with their head.
      await exchange.change();
      continue;
    }
    hold?.(piece.length);
    whole = length === 0 ? piece : appended(whole, length, piece);
    length += piece.length;
  }
};

const noBytes: Buffer = Buffer.alloc(0);
