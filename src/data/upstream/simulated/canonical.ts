import type { GenerateRequest, InputBlock, Message } from '../port.ts';

/** One form of a conversation whatever the API: text or text block, any order of fields. */
export const canonical = ({ system, messages }: Pick<GenerateRequest, 'system' | 'messages'>): readonly unknown[] => [
  blocksOf(system),
  messages.map(({ role, content }: Message) => ({ role, content: blocksOf(content) })),
];

const blocksOf = (content: unknown): readonly unknown[] => {
  if (content === undefined || content === '') return [];
  return Array.isArray(content) ? content.map(blockOf) : [{ type: 'text', text: content }];
};

const blockOf = (block: InputBlock): unknown => {
  const { type } = block;
  switch (type) {
    case 'text':
      return { type, text: block.text };
    case 'image':
    case 'document': {
      const { media_type, data } = block.source as InputBlock;
      return { type, media_type, data };
    }
    case 'tool_use':
      return { type, id: block.id, name: block.name, input: block.input };
    case 'tool_result':
      return { type, id: block.tool_use_id, content: blocksOf(block.content) };
    case 'thinking':
      return { type, thinking: block.thinking };
    default:
      return block;
  }
};
