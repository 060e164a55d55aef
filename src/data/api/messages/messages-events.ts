import type { Refusal } from '../../../errors.ts';
import { failure } from '../../../http/error-envelopes.ts';
import type { AnswerForm } from '../../reply/answer-form.ts';
import type { Chunk, Delta } from '../../upstream/port.ts';
import { blockResource, type Envelope, managedContext, messageResource, tokens } from './messages-answer.ts';

/** The name is the `type` of its data (contract G.5). */
const event = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

const pingEvent = event({ type: 'ping' });

/** An error after the first byte (contract G.5). */
const errorEvent = (refused: Refusal, requestId: string): string =>
  `event: error\ndata: ${JSON.stringify(failure(refused, 'messages', requestId).body)}\n\n`;

export const messagesForm = (envelope: Envelope): AnswerForm => ({
  family: 'messages',
  reads: 'messages',
  whole: (answer) => messageResource(envelope, answer),
  events: (estimatedTokens) => messageEvents(envelope, estimatedTokens),
  ping: pingEvent,
  error: errorEvent,
});

/** Contract G.4, G.5. `estimatedTokens` replaces an input of 0 at the start. */
const messageEvents = (envelope: Envelope, estimatedTokens: number): ((chunk: Chunk) => string) => {
  return (chunk) => {
    switch (chunk.type) {
      case 'start': {
        const usage = { ...chunk.usage, input_tokens: chunk.usage.input_tokens || estimatedTokens, output_tokens: 0 };
        const message = messageResource(envelope, { content: [], stop_reason: null, stop_sequence: null, usage });
        return event({ type: 'message_start', message } as { type: string }) + pingEvent;
      }
      case 'block_start': {
        const { index, block } = chunk;
        return event({ type: 'content_block_start', index, content_block: blockResource(block, envelope) } as {
          type: string;
        });
      }
      case 'block_delta':
        if (envelope.omitsThinking && chunk.delta.type === 'thinking_delta') return '';
        return deltaEvent(chunk.index, chunk.delta);
      case 'block_stop':
        return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${chunk.index}}\n\n`;
      case 'end':
        return `${endEvent(envelope, chunk)}event: message_stop\ndata: {"type":"message_stop"}\n\n`;
    }
  };
};

const endEvent = (
  envelope: Envelope,
  { stop_reason, stop_sequence, usage }: Extract<Chunk, { type: 'end' }>,
): string => {
  const { versioned } = envelope;
  const delta = { stop_reason, stop_sequence: stop_reason === 'stop_sequence' ? stop_sequence : null };
  return event({
    type: 'message_delta',
    delta: versioned ? { ...delta, container: null, stop_details: null } : delta,
    usage: versioned ? { ...tokens(usage), output_tokens_details: null, server_tool_use: null } : tokens(usage),
    ...managedContext(envelope),
  } as { type: string });
};

const deltaEvent = (index: number, delta: Delta): string =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${JSON.stringify(delta)}}\n\n`;
