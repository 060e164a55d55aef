import { jsonText } from '../../../json/exact-number.ts';
import { narrowCallId } from '../../upstream/call-ids.ts';
import type { AnswerBlock } from '../../upstream/port.ts';
import type { ItemStatus } from './response-text.ts';
import { packThought } from './thought.ts';

const prefixes: Readonly<Record<AnswerBlock['type'], string>> = {
  text: 'msg',
  tool_use: 'fc',
  thinking: 'rs',
  redacted_thinking: 'rs',
};

/** Stable within an answer, unique among answers. @param responseId `resp_…` */
export const itemId = (responseId: string, type: AnswerBlock['type'], index: number): string =>
  `${prefixes[type]}_${responseId.slice('resp_'.length)}_${index}`;

export const outputText = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
export const reasoningText = (text: string) => ({ type: 'reasoning_text', text });
export const summaryText = (text: string) => ({ type: 'summary_text', text });

/** @param input of a call as JSON text, if the upstream streamed it */
export const outputItem = (
  block: AnswerBlock,
  id: string,
  { status, asSummary, input }: { readonly status: ItemStatus; readonly asSummary: boolean; readonly input?: string },
): object => {
  switch (block.type) {
    case 'text':
      return { type: 'message', id, status, role: 'assistant', content: [outputText(block.text)] };
    case 'tool_use': {
      const { name } = block;
      const call_id = narrowCallId(block.id);
      return { type: 'function_call', id, call_id, name, arguments: input ?? jsonText(block.input), status };
    }
    case 'thinking':
    case 'redacted_thinking': {
      const text = block.type === 'thinking' ? block.thinking : '';
      const summary = asSummary && text !== '' ? [summaryText(text)] : [];
      const content = !asSummary && text !== '' ? [reasoningText(text)] : [];
      return { type: 'reasoning', id, summary, content, encrypted_content: packThought(block), status };
    }
  }
};

export const beginningItem = (block: AnswerBlock, id: string): object => {
  const status = 'in_progress';
  switch (block.type) {
    case 'text':
      return { type: 'message', id, status, role: 'assistant', content: [] };
    case 'tool_use':
      return { type: 'function_call', id, call_id: narrowCallId(block.id), name: block.name, arguments: '', status };
    case 'thinking':
    case 'redacted_thinking':
      return { type: 'reasoning', id, summary: [], content: [], status };
  }
};
