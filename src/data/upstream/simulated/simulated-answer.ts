import { jsonText } from '../../../json/exact-number.ts';
import { estimateInputTokens } from '../estimate.ts';
import type { DeclaredSimulated } from '../models/model-schema.ts';
import {
  type Answer,
  type AnswerBlock,
  type GenerateRequest,
  type StopReason,
  type Tool,
  UpstreamError,
} from '../port.ts';
import { integerBetween, type Random, type Seed, seededId, seededRandom, seedOf } from '../seed.ts';
import { countTokens } from '../tokens.ts';
import { within } from '../transport/fields.ts';
import { functionsIn } from '../web-search.ts';
import { canonical } from './canonical.ts';
import { SchemaRefusal, sampleSchema } from './json-schema.ts';
import { findStop, firstTokens, type Prose, prose } from './simulated-text.ts';
import { excerpt, readTurn, type Turn } from './turn.ts';

/** Without the times. */
export type Shape = Pick<DeclaredSimulated, 'output_tokens' | 'output_tokens_variation' | 'thinking_tokens'>;

const mostCalls = 4;
/** In UTF-16 units. */
const searched = 8192;

/** Random by the conversation alone: limits and stops cut the same text (contract G.1). @throws UpstreamError */
export const simulate = (request: GenerateRequest, shape: Shape): Answer => {
  const seed = seedOf(request.model, ...canonical(request));
  const random = seededRandom(seed.a ^ Math.imul(seed.b, 0x9e3779b1));
  const turn = readTurn(request.messages);
  const draft: Draft = { content: [], left: request.max_tokens };
  think(draft, request, shape, turn, seed);
  const tools = toolsToCall(request, turn, random);
  const stop =
    tools.length > 0
      ? callTools(draft, tools, functionsIn(request.tools) ?? [], seed, random)
      : speak(draft, request, shape, turn, random);
  return {
    content: draft.content,
    stop_reason: stop.stop_reason,
    stop_sequence: stop.stop_sequence,
    usage: {
      input_tokens: estimateInputTokens(request),
      output_tokens: request.max_tokens - draft.left,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    },
  };
};

interface Draft {
  readonly content: AnswerBlock[];
  left: number;
}

interface Stop {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
}

const stopped = (stop_reason: StopReason, stop_sequence: string | null = null): Stop => ({
  stop_reason,
  stop_sequence,
});

/** Thinking is whole, or absent if it leaves no room for an answer. */
const think = (draft: Draft, request: GenerateRequest, shape: Shape, turn: Turn, seed: Seed): void => {
  const { type, budget_tokens: budget = Infinity } = request.thinking ?? { type: 'disabled' };
  if (type === 'disabled' || turn.prefilled || (type === 'between_tools' && !turn.afterTools)) return;
  const tokens = Math.min(shape.thinking_tokens, budget);
  if (tokens < 1 || tokens >= draft.left) return;
  const { text } = prose(`They ask about "${excerpt(turn.text)}", so`, tokens, tokens, seededRandom(seed.b));
  draft.content.push({ type: 'thinking', thinking: text, signature: seededId(seed, 1, 64) });
  draft.left -= tokens;
};

/** `auto`: the user names the tool. After a result the answer is text, so that conversations end. */
const toolsToCall = (request: GenerateRequest, turn: Turn, random: Random): readonly Tool[] => {
  const { tool_choice: choice = { type: 'auto' } } = request;
  const tools = functionsIn(request.tools) ?? [];
  if (tools.length === 0 || choice.type === 'none' || turn.afterTools || turn.prefilled) return [];
  if (choice.type === 'tool') return tools.filter((tool) => tool.name === choice.name).slice(0, 1);
  const text = turn.text.slice(0, searched);
  const named = tools.filter((tool) => mentions(text, tool.name));
  if (named.length > 0) return named.slice(0, choice.disable_parallel_tool_use === true ? 1 : mostCalls);
  return choice.type === 'any' ? [tools[integerBetween(random, 0, tools.length - 1)]!] : [];
};

const mentions = (text: string, name: string): boolean => {
  const partOfName = /[A-Za-z0-9_-]/;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!partOfName.test(text.charAt(at - 1)) && !partOfName.test(text.charAt(at + name.length))) return true;
  }
  return false;
};

/** A call that does not fit is lost; its tokens up to the limit count. */
const callTools = (
  draft: Draft,
  tools: readonly Tool[],
  declared: readonly Tool[],
  seed: Seed,
  random: Random,
): Stop => {
  for (const [index, tool] of tools.entries()) {
    const input = sampled(tool.input_schema, ['tools', String(declared.indexOf(tool)), 'input_schema'], random);
    const tokens = countTokens(jsonText(input));
    if (tokens > draft.left) {
      draft.left = 0;
      return stopped('max_tokens');
    }
    draft.left -= tokens;
    const id = `toolu_${seededId(seed, 2 + index)}`;
    draft.content.push({ type: 'tool_use', id, name: tool.name, input: input as Tool['input_schema'] });
  }
  return stopped('tool_use');
};

/** @throws UpstreamError with the unsupported keyword and its place */
const sampled = (schema: unknown, place: readonly string[], random: Random): unknown => {
  try {
    return sampleSchema(schema, random);
  } catch (error) {
    if (!(error instanceof SchemaRefusal)) throw error;
    const path = [...place, ...error.place];
    const param = path.join('.');
    const refused = error.place.reduce((value: unknown, step) => within(value)[step], schema) ?? null;
    // Numbers that keep their digits cannot be sent between threads.
    const input: unknown = JSON.parse(JSON.stringify(refused));
    const detail = { loc: ['body', ...path], msg: error.message, type: 'value_error', input, ctx: {} };
    const told = { code: 'unsupported_parameter', param, details: [detail] };
    throw new UpstreamError('invalid_request', `${param}: ${error.message}`, { status: 422, begun: false, told });
  }
};

const speak = (draft: Draft, request: GenerateRequest, shape: Shape, turn: Turn, random: Random): Stop => {
  const said = utter(request, shape, turn, draft.left, random);
  const stop = findStop(said.text, request.stop_sequences ?? []);
  const text = stop === null ? said.text : said.text.slice(0, stop.at);
  draft.left -= stop === null ? said.tokens : countTokens(text);
  if (text !== '') draft.content.push({ type: 'text', text });
  if (stop !== null) return stopped('stop_sequence', stop.sequence);
  return stopped(said.cut ? 'max_tokens' : 'end_turn');
};

const utter = (request: GenerateRequest, shape: Shape, turn: Turn, most: number, random: Random): Prose => {
  const schema = request.output_config?.format?.schema;
  if (schema !== undefined)
    return firstTokens(jsonText(sampled(schema, ['output_config', 'format', 'schema'], random)), most);
  const spread = shape.output_tokens * shape.output_tokens_variation;
  const length = Math.max(1, Math.round(shape.output_tokens + spread * (2 * random() - 1)));
  return prose(opening(turn), length, most, random);
};

const opening = (turn: Turn): string => {
  if (turn.prefilled) return '';
  if (turn.text === '') return 'You sent no text, so';
  return turn.afterTools ? `The tool said "${excerpt(turn.text)}", so` : `You said "${excerpt(turn.text)}", so`;
};
