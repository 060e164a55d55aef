import { blockWithCallId, narrowCallId } from '../call-ids.ts';
import type { CountRequest, InputBlock, Message } from '../port.ts';
import { isSignature } from '../reasoning-item.ts';
import { mergeTurns } from '../turns.ts';
import { isWebSearch } from '../web-search.ts';
import { askedFormat } from './closed-schema.ts';

/** What is said for a user who says nothing (contract L.5): such servers need a turn of the user. */
const goOn: readonly InputBlock[] = [{ type: 'text', text: 'Continue.' }];

/** A request as servers of the messages API take it (contract L.5). */
export const anthropicRequest = <T extends CountRequest>(request: T): T => {
  const said = request.messages
    .map(messageOf)
    .filter(({ role, content }) => role !== 'assistant' || content.length > 0);
  const turns = mergeTurns(said).map((turn) => (turn.content.length > 0 ? turn : { ...turn, content: goOn }));
  const messages = turns.some(({ role }) => role === 'user') ? turns : [...turns, { role: 'user', content: goOn }];
  const { system, tools, output_config: output } = request;
  const made = { ...request, messages, system: systemOf(system), tools: toolsOf(tools) };
  if (output?.format === undefined) return made;
  const { format, words } = askedFormat(output.format);
  const { effort } = output;
  const output_config = format === undefined && effort === undefined ? undefined : { format, effort };
  return { ...made, output_config, ...(words !== undefined && { system: withWords(made.system, words) }) };
};

/** Without the speaker, for whom the API has no place. */
const systemOf = (system: CountRequest['system']): CountRequest['system'] =>
  typeof system === 'string' ? system : system?.map(({ name: _, ...block }) => block as InputBlock);

const withWords = (system: CountRequest['system'], text: string): CountRequest['system'] => {
  const before = typeof system === 'string' ? [{ type: 'text', text: system }] : (system ?? []);
  return [...before.filter(isSaid), { type: 'text', text }];
};

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
