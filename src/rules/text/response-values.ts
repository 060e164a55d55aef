import { type ResponseValues, toolCallType } from '../language/variables.ts';
import { type Copy, normalizedOnce, textOf } from './normal-text.ts';
import type { ResponsePieces } from './pieces.ts';

/** The variables under `response` (contract H) in one of the two copies. */
export const responseValues = (pieces: () => ResponsePieces, copy: Copy): ResponseValues => {
  const text = normalizedOnce(() => textOf(copy, pieces().text));
  const calls = normalizedOnce(() =>
    pieces().calls.map((call) => {
      const sent = normalizedOnce(() => copy.one(call.arguments));
      return new toolCallType.Record({
        name: call.name,
        get arguments() {
          return sent();
        },
      });
    }),
  );
  const toolNames = normalizedOnce(() => pieces().calls.map(({ name }) => name));
  return {
    get stop_reason() {
      return pieces().stopReason;
    },
    get output_tokens() {
      return BigInt(pieces().outputTokens);
    },
    get text() {
      return text();
    },
    get tool_names() {
      return toolNames();
    },
    get tool_calls() {
      return calls();
    },
  };
};
