import type { Usage } from '../../../tokens.ts';
import { narrowCallId } from '../../upstream/call-ids.ts';
import type { Answer, AnswerBlock } from '../../upstream/port.ts';

export interface Envelope {
  readonly id: string;
  readonly model: string;
  /** Whether the request has `anthropic-version`, which adds the fields that SDK types require (contract G.4). */
  readonly versioned: boolean;
  readonly contextManaged: boolean;
  /** Whether the text of thinking is left out (contract G.1). */
  readonly omitsThinking: boolean;
}

export interface AnswerSoFar extends Omit<Answer, 'stop_reason'> {
  readonly stop_reason: Answer['stop_reason'] | null;
}

/** Contract G.3, G.4. Written out: a spread gives each object its own hidden class. */
export const messageResource = (envelope: Envelope, answer: AnswerSoFar): object => {
  const { id, model, versioned } = envelope;
  const content = answer.content.map((block) => blockResource(block, envelope));
  const { stop_reason } = answer;
  const stop_sequence = stop_reason === 'stop_sequence' ? answer.stop_sequence : null;
  if (!versioned) {
    const usage = tokens(answer.usage);
    return { id, type: 'message', role: 'assistant', model, content, stop_reason, stop_sequence, usage };
  }
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason,
    stop_sequence,
    usage: versionedUsage(answer.usage),
    container: null,
    stop_details: null,
    diagnostics: null,
  };
  return envelope.contextManaged ? { ...message, ...managedContext(envelope) } : message;
};

export const blockResource = (block: AnswerBlock, { versioned, omitsThinking }: Envelope): object => {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'tool_use': {
      const { id, name, input } = block;
      return { type: 'tool_use', id: narrowCallId(id), name, input, ...(versioned && { caller: { type: 'direct' } }) };
    }
    case 'thinking':
      return { type: 'thinking', thinking: omitsThinking ? '' : block.thinking, signature: block.signature };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data };
  }
};

export const tokens = (usage: Usage): Usage => ({
  input_tokens: usage.input_tokens,
  output_tokens: usage.output_tokens,
  cache_creation_input_tokens: usage.cache_creation_input_tokens,
  cache_read_input_tokens: usage.cache_read_input_tokens,
});

const versionedUsage = (usage: Usage) => ({
  input_tokens: usage.input_tokens,
  output_tokens: usage.output_tokens,
  cache_creation_input_tokens: usage.cache_creation_input_tokens,
  cache_read_input_tokens: usage.cache_read_input_tokens,
  cache_creation: null,
  inference_geo: null,
  output_tokens_details: null,
  server_tool_use: null,
  service_tier: 'standard',
  speed: null,
});

/** Accepted edits change nothing, so none is reported (contract G.4). */
export const managedContext = ({ versioned, contextManaged }: Envelope): object =>
  versioned && contextManaged ? { context_management: { applied_edits: [] } } : {};
