import type { Refusal } from '../../../errors.ts';
import { failure } from '../../../http/error-envelopes.ts';
import { jsonText } from '../../../json/exact-number.ts';
import { inputOf, type Usage } from '../../../tokens.ts';
import type { AnswerForm } from '../../reply/answer-form.ts';
import type { Answer, AnswerBlock, Chunk, StopReason } from '../../upstream/port.ts';

export interface ChatEnvelope {
  readonly id: string;
  readonly model: string;
  readonly created: number;
  readonly includeUsage: boolean;
}

/** Constant, because a gateway has one build. */
const fingerprint = 'fp_weir';

export const chatForm = (envelope: ChatEnvelope): AnswerForm => ({
  family: 'chat',
  reads: 'messages',
  whole: (answer) => completion(envelope, answer),
  events: () => chunkEvents(envelope),
  keepsLateStart: true,
  ping: ': ping\n\n',
  error: errorEvent,
});

const finishReasons: Readonly<Record<StopReason, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
};

const completion = ({ id, model, created }: ChatEnvelope, { content, stop_reason, usage }: Answer): object => {
  const calls = content.flatMap((block) => (block.type === 'tool_use' ? [callOf(block)] : []));
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const message = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    refusal: null,
    tool_calls: calls.length > 0 ? calls : undefined,
  };
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    system_fingerprint: fingerprint,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasons[stop_reason] }],
    usage: chatUsage(usage),
  };
};

const callOf = ({ id, name, input }: Extract<AnswerBlock, { type: 'tool_use' }>) => ({
  id,
  type: 'function',
  function: { name, arguments: jsonText(input) },
});

/** Cached tokens are part of the prompt here. Not every upstream reports reasoning tokens. */
const chatUsage = (usage: Usage) => {
  const prompt = inputOf(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output_tokens,
    total_tokens: prompt + usage.output_tokens,
    prompt_tokens_details: { cached_tokens: usage.cache_read_input_tokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens ?? 0 },
  };
};

const errorEvent = (refused: Refusal, requestId: string): string =>
  `data: ${JSON.stringify(failure(refused, 'chat', requestId).body)}\n\n`;

/** Writes chunks as `data` lines. Reasoning is left out: the API has no field for it. */
const chunkEvents = ({ id, model, created, includeUsage }: ChatEnvelope): ((chunk: Chunk) => string) => {
  // Constant in all events of an answer.
  const head = `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},"system_fingerprint":"${fingerprint}","choices":[`;
  // The most frequent event: only its text goes through JSON.stringify.
  const textHead = `${head}{"index":0,"delta":{"content":`;
  const textTail = '},"logprobs":null,"finish_reason":null}]}\n\n';
  const event = (delta: object, reason: string | null): string =>
    `${head}{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(reason)}}]}\n\n`;
  let calls = -1;
  /** Of the open block. */
  let isCall = false;
  let isSaid = false;
  const say = (args: string): string => event({ tool_calls: [{ index: calls, function: { arguments: args } }] }, null);
  return (chunk) => {
    switch (chunk.type) {
      case 'start':
        return event({ role: 'assistant', content: '' }, null);
      case 'block_start': {
        const { block } = chunk;
        isCall = block.type === 'tool_use';
        if (block.type !== 'tool_use') return '';
        calls += 1;
        isSaid = false;
        const called = { name: block.name, arguments: '' };
        return event({ tool_calls: [{ index: calls, id: block.id, type: 'function', function: called }] }, null);
      }
      case 'block_delta': {
        const { delta } = chunk;
        if (delta.type === 'text_delta') return `${textHead}${JSON.stringify(delta.text)}${textTail}`;
        if (delta.type !== 'input_json_delta' || !isCall) return '';
        isSaid ||= delta.partial_json !== '';
        return say(delta.partial_json);
      }
      case 'block_stop':
        return isCall && !isSaid ? say('{}') : '';
      case 'end': {
        const last = event({}, finishReasons[chunk.stop_reason]);
        const usage = includeUsage ? `${head}],"usage":${JSON.stringify(chatUsage(chunk.usage))}}\n\n` : '';
        return `${last}${usage}data: [DONE]\n\n`;
      }
    }
  };
};
