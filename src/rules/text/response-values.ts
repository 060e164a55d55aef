import { jsonText } from '../../exact-number.ts';
import { type ResponseValues, toolCallType } from '../language/variables.ts';
import { read } from './block-text.ts';
import { joined, normal, normalizedOnce } from './normal-text.ts';
import type { ResponseText } from './request-text.ts';

/** The variables under `response` (contract H). Text and arguments of calls are apart; thinking is in neither. */
export const responseValues = (response: ResponseText): ResponseValues => {
  const text = normalizedOnce(() => joined(read(response.content.filter(({ type }) => type === 'text')).text));
  const calls = normalizedOnce(() =>
    response.content.flatMap((block) =>
      block.type === 'tool_use'
        ? [new toolCallType.Record({ name: block.name, arguments: normal(jsonText(block.input)) })]
        : [],
    ),
  );
  const toolNames = normalizedOnce(() => calls().map(({ values }) => values.name));
  return {
    stop_reason: response.stopReason,
    output_tokens: BigInt(response.outputTokens),
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
