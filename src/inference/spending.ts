import type { Allowance, Meter } from '../http/route.ts';
import { estimateTokensOf } from '../upstream/estimate.ts';
import { type Chunk, type Delta, noUsage, type Usage } from '../upstream/port.ts';

/** Tokens of an answer: input, cached input and output (contract A.6). Input that nobody reports is what was estimated. */
export const tokensTaken = (usage: Usage, estimatedInput: number): number => {
  const input = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
  return (input || estimatedInput) + usage.output_tokens;
};

/**
 * Keeps the tokens of a streamed answer up to date while it is produced, so that one that is cut off is charged with what
 * was there: the reported or estimated input, and of the output what has been sent, estimated until the upstream tells
 * (contract F.4).
 */
export class Spending {
  readonly #allowance: Allowance;
  readonly #grow: (outputTokens: number) => void;
  readonly #meter: Meter;
  readonly #estimatedInput: number;
  #input: number;
  #bytes = 0;
  #usage: Usage = noUsage;

  constructor(allowance: Allowance, grow: (outputTokens: number) => void, meter: Meter, estimatedInput: number) {
    this.#allowance = allowance;
    this.#grow = grow;
    this.#meter = meter;
    this.#estimatedInput = estimatedInput;
    this.#input = estimatedInput;
  }

  /** @param status that the client gets with the last of them */
  add(chunk: Chunk, status = 200): void {
    switch (chunk.type) {
      case 'start':
        this.#input = tokensTaken({ ...chunk.usage, output_tokens: 0 }, this.#estimatedInput);
        this.#allowance.spent = this.#input;
        this.#usage = chunk.usage;
        this.#meter.progress(chunk.usage, 0);
        break;
      case 'block_delta': {
        this.#bytes += Buffer.byteLength(textOf(chunk.delta));
        const output = estimateTokensOf(this.#bytes);
        this.#allowance.spent = this.#input + output;
        this.#grow(output);
        this.#meter.progress(this.#usage, output);
        break;
      }
      case 'end':
        this.#allowance.spent = tokensTaken(chunk.usage, this.#input);
        this.#meter.complete(chunk.usage, estimateTokensOf(this.#bytes), status);
        break;
    }
  }
}

const textOf = (delta: Delta): string => {
  switch (delta.type) {
    case 'text_delta':
      return delta.text;
    case 'input_json_delta':
      return delta.partial_json;
    case 'thinking_delta':
      return delta.thinking;
    case 'signature_delta':
      return '';
  }
};
