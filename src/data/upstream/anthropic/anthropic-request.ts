import { blockWithCallId, narrowCallId } from '../call-ids.ts';
import type { CountRequest, InputBlock, Message } from '../port.ts';
import { isSignature } from '../reasoning-item.ts';
import { mergeTurns } from '../turns.ts';
import { isWebSearch } from '../web-search.ts';

/** What is said for a user who says nothing (contract L.5): such servers need a turn of the user. */
const goOn: readonly InputBlock[] = [{ type: 'text', text: 'Continue.' }];

/** A request as servers of the messages API take it (contract L.5). */
export const anthropicRequest = <T extends CountRequest>(request: T): T => {
  const said = request.messages
    .map(messageOf)
    .filter(({ role, content }) => role !== 'assistant' || content.length > 0);
  const turns = mergeTurns(said).map((turn) => (turn.content.length > 0 ? turn : { ...turn, content: goOn }));
  const messages = turns.some(({ role }) => role === 'user') ? turns : [...turns, { role: 'user', content: goOn }];
  const output_config = outputOf(request.output_config);
  return { ...request, messages, system: systemOf(request.system), tools: toolsOf(request.tools), output_config };
};

/** Every format is strict here. */
const outputOf = (output: CountRequest['output_config']): CountRequest['output_config'] => {
  if (output?.format?.strict == null) return output;
  const { strict: _, ...format } = output.format;
  return { ...output, format };
};

/** Without the speaker, for whom the API has no place. */
const systemOf = (system: CountRequest['system']): CountRequest['system'] =>
  typeof system === 'string' ? system : system?.map(({ name: _, ...block }) => block as InputBlock);

/** Without how much of the found is read: the API leaves that to the model. */
const toolsOf = (tools: CountRequest['tools']): CountRequest['tools'] =>
  tools?.map((tool) => {
    if (!isWebSearch(tool)) return tool;
    const { search_context_size: _, ...search } = tool;
    return search;
  });

const messageOf = (message: Message): Message => {
  const { role, content, output_config: hint } = message;
  const made = role === 'system' ? content : contentOf(content);
  return hint == null ? { role, content: made } : { role, content: made, output_config: hint };
};

/** Without blank texts, and thoughts of models of other APIs, which are refused. */
const contentOf = (content: Message['content']): Message['content'] => {
  if (typeof content === 'string') return isBlank(content) ? [] : content;
  return content
    .filter((block) => isSaid(block) && !isThoughtOfOthers(block))
    .map((block) => blockWithCallId(block, narrowCallId));
};

const isSaid = ({ type, text }: InputBlock): boolean => type !== 'text' || !isBlank(text as string);
const isThoughtOfOthers = ({ type, signature }: InputBlock): boolean =>
  type === 'thinking' && (signature === '' || isSignature(signature));
const isBlank = (text: string): boolean => !/\S/.test(text);
