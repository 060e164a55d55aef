// Members of answers that only software reads, with their usual values. Other values are read.

const idNames = /^(?:id|.*_id)$/;
const madeId = /^[a-z]{2,12}[-_][\w-]{12,}$/i;

const words: ReadonlySet<string> = new Set(
  (
    'completed in_progress incomplete failed queued cancelled searching generating interpreting calling stop length ' +
    'tool_calls function_call content_filter end_turn max_tokens stop_sequence tool_use pause_turn refusal max_output_tokens ' +
    'auto default standard flex priority scale batch assistant user tool message response chat.completion ' +
    'chat.completion.chunk text_completion disabled enabled none low medium high minimal null'
  ).split(' '),
);
const wordNames: ReadonlySet<string> = new Set(
  'status finish_reason native_finish_reason stop_reason reason service_tier role object phase truncation effort'.split(
    ' ',
  ),
);
/** Members that repeat the request. */
const repeated: ReadonlySet<string> = new Set(
  'instructions tools tool_choice metadata text user safety_identifier prompt_cache_key reasoning prompt'.split(' '),
);

export const isIdOfAnswer = (name: string, value: unknown): boolean =>
  typeof value === 'string' && idNames.test(name) && madeId.test(value);

/** Whether rules skip it; `obfuscation` pads streams with random letters. */
export const isUnread = (name: string, value: unknown): boolean =>
  typeof value === 'string' &&
  (isIdOfAnswer(name, value) ||
    (wordNames.has(name) && words.has(value)) ||
    (name === 'type' && /^(?:response|message|content_block)(?:[._][a-z_]+)*$/.test(value)) ||
    (name === 'type' && /^(?:ping|output_item|[a-z]+_delta)$/.test(value)) ||
    (name === 'obfuscation' && /^[A-Za-z0-9]{0,64}$/.test(value)));

/** The response without members of its request. */
export const withoutRepeats = (response: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(response).filter(([name]) => !repeated.has(name)));
