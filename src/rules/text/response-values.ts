import { type ResponseValues, type ToolCallValues, toolCallType } from '../language/variables.ts';
import type { ResponsePieces } from './answer-pieces.ts';
import { lazily } from './lazy.ts';
import { type Copy, textOf } from './normal-text.ts';

const ToolCall = lazily<
  { readonly copy: Copy; readonly call: { readonly name: string; readonly arguments: string } },
  ToolCallValues
>({
  name: ({ copy, call }) => copy.one(call.name),
  arguments: ({ copy, call }) => copy.one(call.arguments),
});

/** The variables under `response` (contract H) in one copy. */
export const ResponseFields = lazily<{ readonly pieces: () => ResponsePieces; readonly copy: Copy }, ResponseValues>({
  stop_reason: ({ pieces }) => pieces().stopReason,
  output_tokens: ({ pieces }) => BigInt(pieces().outputTokens),
  text: ({ pieces, copy }) => textOf(copy, pieces().text),
  tool_names: ({ pieces, copy }) => pieces().calls.map(({ name }) => copy.one(name)),
  tool_calls: ({ pieces, copy }) => pieces().calls.map((call) => new toolCallType.Record(new ToolCall({ copy, call }))),
});
