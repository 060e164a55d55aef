import type { ConnectedModel } from '../../upstream/connect.ts';
import type { CountRequest, GenerateRequest, Message, Thinking, Tool, ToolChoice } from '../../upstream/port.ts';
import { mergeTurns } from '../../upstream/turns.ts';
import { isWebSearch, type WebSearch } from '../../upstream/web-search.ts';
import type { MessagesBody, MessagesCount } from './messages-schema.ts';
import { type ThinkingInput, thinkingBudget, thinkingType } from './thinking-schema.ts';
import { type ToolChoiceInput, type ToolsInput, toolChoiceType } from './tools-schema.ts';

/** Defaults filled in, null made absent, turns merged. Assigned: a spread gives each object its own hidden class. */
export const generateRequest = (body: MessagesBody, hosted: ConnectedModel): GenerateRequest =>
  Object.assign(countRequest(body, hosted), {
    max_tokens: Math.max(body.max_tokens, hosted.upstream.leastTokens ?? 1),
    temperature: body.temperature ?? undefined,
    top_p: body.top_p ?? undefined,
    top_k: body.top_k ?? undefined,
    stop_sequences: body.stop_sequences ?? undefined,
    metadata: body.metadata?.user_id == null ? undefined : { user_id: body.metadata.user_id },
  });

/** The counted part. */
export const countRequest = (body: MessagesCount, hosted: ConnectedModel): CountRequest => {
  const tools = declaredTools(body.tools);
  return {
    model: hosted.upstreamModel,
    messages: mergeTurns(body.messages).map(withoutNulls),
    system: body.system ?? undefined,
    tools,
    // Many servers refuse a choice without tools, which says nothing.
    tool_choice: tools && toolChoice(body.tool_choice),
    thinking: thinking(body.thinking, hosted),
    output_config: outputConfig(body.output_config),
  };
};

const withoutNulls = ({ role, name, content, output_config }: Message): Message => {
  const message =
    output_config?.effort == null
      ? { role, content }
      : { role, content, output_config: { effort: output_config.effort } };
  return name == null ? message : { ...message, name };
};

const declaredTools = (tools: ToolsInput | null | undefined): readonly (Tool | WebSearch)[] | undefined =>
  tools == null || tools.length === 0
    ? undefined
    : tools.map((tool) => (isWebSearch(tool) ? tool : { ...tool, description: tool.description ?? undefined }));

const toolChoice = (choice: ToolChoiceInput | null | undefined): ToolChoice | undefined => {
  if (choice == null) return undefined;
  const type = toolChoiceType(choice);
  return {
    type,
    name: type === 'tool' ? (choice.name ?? undefined) : undefined,
    disable_parallel_tool_use: choice.disable_parallel_tool_use ?? undefined,
  };
};

const thinking = (input: ThinkingInput, { model }: ConnectedModel): Thinking | undefined =>
  input == null
    ? undefined
    : {
        type: thinkingType(input),
        budget_tokens: thinkingBudget(input, model),
        display: input.display ?? undefined,
      };

const outputConfig = (config: MessagesBody['output_config']): GenerateRequest['output_config'] => {
  const { format, effort } = config ?? {};
  if (format == null && effort == null) return undefined;
  return {
    format: format == null ? undefined : formatOf(format),
    effort: effort ?? undefined,
  };
};

type FormatInput = NonNullable<NonNullable<MessagesBody['output_config']>['format']>;

const formatOf = ({ type, schema, strict }: FormatInput): NonNullable<GenerateRequest['output_config']>['format'] =>
  strict == null ? { type, schema } : { type, schema, strict };
