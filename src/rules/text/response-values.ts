import { type ResponseValues, type ToolCallRecord, toolCallType } from '../language/variables.ts';
import type { ResponsePieces } from './answer-pieces.ts';
import { type Copy, normalizedOnce, textOf } from './normal-text.ts';

/** The variables under `response` (contract H) in one copy, built when first read. */
export class ResponseFields implements ResponseValues {
  readonly #pieces: () => ResponsePieces;
  readonly #copy: Copy;
  #text: string | undefined;
  #calls: readonly ToolCallRecord[] | undefined;
  #toolNames: readonly string[] | undefined;

  constructor(pieces: () => ResponsePieces, copy: Copy) {
    this.#pieces = pieces;
    this.#copy = copy;
  }

  get stop_reason() {
    return this.#pieces().stopReason;
  }
  get output_tokens() {
    return BigInt(this.#pieces().outputTokens);
  }
  get text() {
    this.#text ??= textOf(this.#copy, this.#pieces().text);
    return this.#text;
  }
  get tool_names() {
    this.#toolNames ??= this.#pieces().calls.map(({ name }) => this.#copy.one(name));
    return this.#toolNames;
  }
  get tool_calls() {
    this.#calls ??= this.#pieces().calls.map((call) => {
      const sent = normalizedOnce(() => this.#copy.one(call.arguments));
      return new toolCallType.Record({
        name: this.#copy.one(call.name),
        get arguments() {
          return sent();
        },
      });
    });
    return this.#calls;
  }
}
