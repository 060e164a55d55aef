import { jsonText } from '../../../json/exact-number.ts';
import { narrowCallId } from '../../upstream/call-ids.ts';
import type { AnswerBlock } from '../../upstream/port.ts';
import type { Called, CalledNames } from './namespaces.ts';
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

/** A call may be of a function in a namespace. */
export type OutputBlock = AnswerBlock & { readonly namespace?: string | undefined };

/** Calls have the names of the client's functions. */
export const asCalled = (block: AnswerBlock, names: CalledNames): OutputBlock => {
  const called = block.type === 'tool_use' ? names.get(block.name) : undefined;
  return called === undefined ? block : ({ ...block, ...called } as OutputBlock);
};

const nameOf = ({ name, namespace }: Called): Called => (namespace === undefined ? { name } : { namespace, name });

/** @param input of a call as JSON text, if the upstream streamed it */
export const outputItem = (
  block: OutputBlock,
  id: string,
  { status, asSummary, input }: { readonly status: ItemStatus; readonly asSummary: boolean; readonly input?: string },
): object => {
  switch (block.type) {
    case 'text':
      return { type: 'message', id, status, role: 'assistant', content: [outputText(block.text)] };
    case 'tool_use': {
      const call_id = narrowCallId(block.id);
      return {
        type: 'function_call',
        id,
        call_id,
        ...nameOf(block),
        arguments: input ?? jsonText(block.input),
        status,
      };
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

export const beginningItem = (block: OutputBlock, id: string): object => {
  const status = 'in_progress';
  switch (block.type) {
    case 'text':
      return { type: 'message', id, status, role: 'assistant', content: [] };
    case 'tool_use':
      return { type: 'function_call', id, call_id: narrowCallId(block.id), ...nameOf(block), arguments: '', status };
    case 'thinking':
    case 'redacted_thinking':
      return { type: 'reasoning', id, summary: [], content: [], status };
  }
};
