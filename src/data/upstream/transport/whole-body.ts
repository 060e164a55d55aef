import type { GenerateOptions } from '../port.ts';
import { appended } from './appended.ts';
import type { UpstreamExchange } from './exchange.ts';

const noBytes: Buffer = Buffer.alloc(0);

export class WholeBody {
  readonly #hold: GenerateOptions['hold'];
  #held: Buffer = noBytes;
  #length = 0;

  constructor(hold?: GenerateOptions['hold']) {
    this.#hold = hold;
  }

  get bytes(): Buffer {
    return this.#length === this.#held.length ? this.#held : this.#held.subarray(0, this.#length);
  }

  /** Takes what has come. Returns whether that is all of it. @throws AnswerUnwanted without room */
  take(exchange: Pick<UpstreamExchange, 'take'>): boolean {
    let piece = exchange.take();
    for (; piece; piece = exchange.take()) {
      this.#hold?.(piece.length);
      this.#held = this.#length === 0 ? piece : appended(this.#held, this.#length, piece);
      this.#length += piece.length;
    }
    return piece === null;
  }
}
