import fc from 'fast-check';
import type {
  Answer,
  AnswerBlock,
  Chunk,
  GenerateOptions,
  GenerateRequest,
  Message,
} from '../../src/data/upstream/port.ts';

export const user = (content: Message['content']): Message => ({ role: 'user', content });

export const request = (over: Partial<GenerateRequest> = {}): GenerateRequest => ({
  model: 'sim',
  max_tokens: 1000,
  messages: [user('Where does the weir begin?')],
  ...over,
});

export const options = (signal: AbortSignal = new AbortController().signal): GenerateOptions => ({
  signal,
  requestId: 'req_test',
});

/** Words with spaces, punctuation, emoji and line ends. */
export const anyText = fc.oneof(
  fc.lorem({ maxCount: 12 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.constantFrom('a', ' ', '\n', '😀', '.', 'é'), maxLength: 40 }),
);

export const anyConversation: fc.Arbitrary<readonly Message[]> = fc
  .array(anyText, { minLength: 1, maxLength: 4 })
  .map((texts) => texts.map((text, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: text })));

/** Puts a stream together again, and insists on its grammar. */
export const assemble = async (stream: AsyncIterable<Chunk>): Promise<Answer> => {
  const content: AnswerBlock[] = [];
  let open: { index: number; block: AnswerBlock; json: string } | null = null;
  let state: 'new' | 'started' | 'ended' = 'new';
  let answer: Answer | null = null;
  const insist = (held: boolean, chunk: Chunk) => {
    if (!held) throw new Error(`out of place: ${JSON.stringify(chunk)}`);
  };
  for await (const chunk of stream) {
    switch (chunk.type) {
      case 'start':
        insist(state === 'new', chunk);
        state = 'started';
        break;
      case 'block_start':
        insist(state === 'started' && open === null && chunk.index === content.length, chunk);
        open = { index: chunk.index, block: structuredClone(chunk.block), json: '' };
        break;
      case 'block_delta': {
        insist(open?.index === chunk.index, chunk);
        const { block } = open!;
        const { delta } = chunk;
        if (delta.type === 'text_delta' && block.type === 'text')
          Object.assign(block, { text: block.text + delta.text });
        else if (delta.type === 'thinking_delta' && block.type === 'thinking') {
          Object.assign(block, { thinking: block.thinking + delta.thinking });
        } else if (delta.type === 'signature_delta' && block.type === 'thinking') {
          Object.assign(block, { signature: block.signature + delta.signature });
        } else if (delta.type === 'input_json_delta' && block.type === 'tool_use') open!.json += delta.partial_json;
        else insist(false, chunk);
        break;
      }
      case 'block_stop': {
        insist(open?.index === chunk.index, chunk);
        const { block, json } = open!;
        content.push(block.type === 'tool_use' ? { ...block, input: JSON.parse(json) } : block);
        open = null;
        break;
      }
      case 'end': {
        insist(state === 'started' && open === null, chunk);
        state = 'ended';
        const { stop_reason, stop_sequence, usage } = chunk;
        answer = { content, stop_reason, stop_sequence, usage };
      }
    }
  }
  if (answer === null) throw new Error('the stream has no end');
  return answer;
};
