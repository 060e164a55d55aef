import { jsonText } from '../../../json/exact-number.ts';
import { narrowCallId } from '../call-ids.ts';
import { type Format, isJsonMode } from '../format.ts';
import type { GenerateRequest, InputBlock, Message, Tool, ToolChoice } from '../port.ts';
import { isSignature, reasoningItem } from '../reasoning-item.ts';
import type { ToolNames } from '../tool-names.ts';
import type { Fields } from '../transport/fields.ts';
import { isWebSearch, type WebSearch, webSearchIn } from '../web-search.ts';
import { type Content, dataUrl, effortOf, failed, textOf, wordOf } from './chat-request.ts';
import { isStrict } from './strict-schema.ts';
import { openaiUserId } from './user-id.ts';

/** OpenAI takes no smaller maximum. */
export const leastOutput = 16;

/** For a request that is not `inexpressible`. @param thinks whether the model is declared to reason */
export const responsesRequest = (
  request: GenerateRequest,
  stream: boolean,
  thinks: boolean,
  names: ToolNames,
): Fields => {
  const { model, max_tokens, messages, system, temperature, top_p, tools, metadata, output_config: output } = request;
  const instructions = system === undefined || system.length === 0 ? undefined : instructionsOf(system);
  const input = messages.flatMap((message) => itemsOf(message, names));
  // Instructions alone are not a request.
  const isAlone = input.length === 0;
  return {
    model,
    max_output_tokens: max_tokens,
    instructions: isAlone ? undefined : instructions,
    input: isAlone ? [{ role: 'system', content: instructions ?? '' }] : input,
    temperature,
    top_p,
    ...(tools !== undefined && {
      tools: tools.map((tool) => toolOf(tool, names)),
      ...choiceOf(request.tool_choice, names),
    }),
    max_tool_calls: webSearchIn(tools)?.max_uses,
    text: output?.format && { format: formatOf(output.format) },
    ...(thinks && reasoningOf(request)),
    user: openaiUserId(metadata?.user_id),
    store: false,
    stream,
  };
};

const instructionsOf = (system: string | readonly InputBlock[]): string =>
  typeof system === 'string' ? system : system.map(({ text }) => text).join('\n');

/** Tool results must follow the calls. */
const itemsOf = ({ role, content }: Message, names: ToolNames): readonly Fields[] => {
  if (typeof content === 'string') return [{ role, content }];
  // Reasoning that nothing follows is refused.
  if (role === 'assistant')
    return content.slice(0, content.findLastIndex(isSaid) + 1).flatMap((block) => itemOf(block, names));
  const results = content.filter(({ type }) => type === 'tool_result').map((result) => resultOf(result, names));
  const parts = content.filter(({ type }) => type !== 'tool_result');
  return parts.length === 0 ? results : [...results, { role, content: contentOf(parts, names) }];
};

const isSaid = ({ type }: InputBlock): boolean => type === 'text' || type === 'tool_use';

/** Of the assistant. Not every server takes the parts of its own answers as input; all take strings. */
const itemOf = (block: InputBlock, names: ToolNames): Fields | readonly Fields[] => {
  switch (block.type) {
    case 'tool_use': {
      const call_id = narrowCallId(block.id as string);
      const name = names.of(block.name as string);
      return [{ type: 'function_call', call_id, name, arguments: jsonText(block.input) }];
    }
    case 'thinking': {
      const { thinking, signature } = block as unknown as { thinking: string; signature: string };
      const isOfOthers = signature !== '' && !isSignature(signature);
      return isOfOthers ? [] : (reasoningItem(thinking, signature) ?? []);
    }
    case 'redacted_thinking':
      return [];
    default:
      return [{ role: 'assistant', content: block.text }];
  }
};

/** The API has no field for a failure. */
const resultOf = ({ tool_use_id, content, is_error }: InputBlock, names: ToolNames): Fields => {
  const call_id = narrowCallId(tool_use_id as string);
  const blocks = (content ?? '') as string | readonly InputBlock[];
  const output = blocks.length === 0 ? '' : contentOf(blocks, names);
  return { type: 'function_call_output', call_id, output: is_error === true ? failed(output, 'input_text') : output };
};

const contentOf = (blocks: string | readonly InputBlock[], names: ToolNames): Content => {
  if (typeof blocks === 'string') return blocks;
  const [only] = blocks;
  const text = blocks.length === 1 ? textOf(only!, names) : undefined;
  return text ?? blocks.map((block) => partOf(block, names));
};

const partOf = (block: InputBlock, names: ToolNames): Fields => {
  const text = textOf(block, names);
  if (text !== undefined) return { type: 'input_text', text };
  const url = dataUrl(block);
  // Some servers insist on `detail`.
  if (block.type === 'image') return { type: 'input_image', image_url: url, detail: 'auto' };
  return { type: 'input_file', filename: block.title ?? 'document.pdf', file_data: url };
};

const toolOf = (tool: Tool | WebSearch, names: ToolNames): Fields => {
  if (!isWebSearch(tool)) return functionOf(tool, names);
  const { allowed_domains: domains, search_context_size, user_location } = tool;
  const filters = domains && { allowed_domains: domains };
  return { type: 'web_search', filters, search_context_size, user_location };
};

/** Without `strict`, a server may take a schema for strict, and refuse it or change it. */
const functionOf = ({ name, description, input_schema, strict }: Tool, names: ToolNames): Fields => ({
  type: 'function',
  name: names.of(name),
  description,
  parameters: input_schema,
  strict: strict ?? false,
});

const choiceOf = (choice: ToolChoice | undefined, names: ToolNames): Fields => {
  if (choice === undefined) return {};
  const { type, name, disable_parallel_tool_use: once } = choice;
  const tool_choice = type === 'tool' ? { type: 'function', name: names.of(name!) } : wordOf(type);
  return { tool_choice, ...(once === true && { parallel_tool_calls: false }) };
};

const formatOf = (format: Format): Fields => {
  const { schema } = format;
  if (isJsonMode(schema)) return { type: 'json_object' };
  return { type: 'json_schema', name: 'answer', strict: isStrict(format), schema };
};

/** Such models think unasked, so what they need of it on the next turn is requested too. */
const reasoningOf = (request: GenerateRequest): Fields => {
  const effort = effortOf(request);
  if (effort === 'none') return { reasoning: { effort } };
  const include = ['reasoning.encrypted_content'];
  if (effort === undefined) return { include };
  const isShown = request.thinking?.display !== 'omitted';
  return { reasoning: { effort, ...(isShown && { summary: 'auto' }) }, include };
};
