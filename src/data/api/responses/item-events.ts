import type { Delta } from '../../upstream/port.ts';
import { beginningItem, type OutputBlock, outputItem, outputText, reasoningText, summaryText } from './output-items.ts';
import type { ItemStatus } from './response-text.ts';

/** @param members as JSON, beyond type and number */
export type Emit = (type: string, members: string) => string;

export interface ItemPlace {
  readonly id: string;
  readonly index: number;
  readonly asSummary: boolean;
}

export interface ItemEvents {
  readonly begin: () => string;
  readonly delta: (delta: Delta) => string;
  /** Returns the events, and the item as JSON. */
  readonly end: (status: ItemStatus) => { readonly events: string; readonly item: string };
}

export const itemEvents = (emit: Emit, block: OutputBlock, place: ItemPlace): ItemEvents => {
  const content = contentEvents(emit, block, place);
  return {
    begin: () => {
      const item = JSON.stringify(beginningItem(block, place.id));
      return emit('response.output_item.added', `"output_index":${place.index},"item":${item}`) + content.begin();
    },
    delta: content.delta,
    end: (status) => {
      const before = content.end(status);
      const item = JSON.stringify(outputItem(content.whole(), place.id, { ...place, status, input: content.said() }));
      return {
        events: before + emit('response.output_item.done', `"output_index":${place.index},"item":${item}`),
        item,
      };
    },
  };
};

interface ContentEvents {
  readonly begin: () => string;
  readonly delta: (delta: Delta) => string;
  readonly end: (status: ItemStatus) => string;
  readonly whole: () => OutputBlock;
  readonly said: () => string;
}

const contentEvents = (emit: Emit, block: OutputBlock, place: ItemPlace): ContentEvents => {
  const where = `"item_id":${JSON.stringify(place.id)},"output_index":${place.index}`;
  switch (block.type) {
    case 'text':
      return textEvents(emit, where);
    case 'tool_use':
      return callEvents(emit, where, block);
    case 'thinking':
      return thoughtEvents(emit, where, place.asSummary);
    case 'redacted_thinking':
      return { begin: () => '', delta: () => '', end: () => '', whole: () => block, said: () => '' };
  }
};

const partEvent = (emit: Emit, type: string, where: string, part: object): string =>
  emit(type, `${where},"part":${JSON.stringify(part)}`);

const textEvents = (emit: Emit, item: string): ContentEvents => {
  const where = `${item},"content_index":0`;
  let text = '';
  return {
    begin: () => partEvent(emit, 'response.content_part.added', where, outputText('')),
    delta: (delta) => {
      if (delta.type !== 'text_delta' || delta.text === '') return '';
      text += delta.text;
      return emit('response.output_text.delta', `${where},"delta":${JSON.stringify(delta.text)},"logprobs":[]`);
    },
    end: () =>
      emit('response.output_text.done', `${where},"text":${JSON.stringify(text)},"logprobs":[]`) +
      partEvent(emit, 'response.content_part.done', where, outputText(text)),
    whole: () => ({ type: 'text', text }),
    said: () => text,
  };
};

const callEvents = (emit: Emit, where: string, block: Extract<OutputBlock, { type: 'tool_use' }>): ContentEvents => {
  let input = '';
  const say = (piece: string): string => {
    if (piece === '') return '';
    input += piece;
    return emit('response.function_call_arguments.delta', `${where},"delta":${JSON.stringify(piece)}`);
  };
  return {
    begin: () => '',
    delta: (delta) => (delta.type === 'input_json_delta' ? say(delta.partial_json) : ''),
    end: (status) => {
      const missing = input === '' && status === 'completed' ? say('{}') : '';
      const done = `${where},"name":${JSON.stringify(block.name)},"arguments":${JSON.stringify(input)}`;
      return missing + emit('response.function_call_arguments.done', done);
    },
    whole: () => block,
    said: () => input,
  };
};

/** Thinking with only a signature has no part. */
const thoughtEvents = (emit: Emit, item: string, asSummary: boolean): ContentEvents => {
  const where = `${item},"${asSummary ? 'summary' : 'content'}_index":0`;
  const part = asSummary ? 'response.reasoning_summary_part' : 'response.content_part';
  const text = asSummary ? 'response.reasoning_summary_text' : 'response.reasoning_text';
  const partOf = asSummary ? summaryText : reasoningText;
  let thinking = '';
  let signature = '';
  return {
    begin: () => '',
    delta: (delta) => {
      if (delta.type === 'signature_delta') signature += delta.signature;
      if (delta.type !== 'thinking_delta' || delta.thinking === '') return '';
      const added = thinking === '' ? partEvent(emit, `${part}.added`, where, partOf('')) : '';
      thinking += delta.thinking;
      return added + emit(`${text}.delta`, `${where},"delta":${JSON.stringify(delta.thinking)}`);
    },
    end: () =>
      thinking === ''
        ? ''
        : emit(`${text}.done`, `${where},"text":${JSON.stringify(thinking)}`) +
          partEvent(emit, `${part}.done`, where, partOf(thinking)),
    whole: () => ({ type: 'thinking', thinking, signature }),
    said: () => thinking,
  };
};
