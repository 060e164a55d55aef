import { jsonText } from '../../../json/exact-number.ts';
import { type Answer, type AnswerBlock, type Chunk, type Delta, emptied } from '../port.ts';
import { tokenGroups } from '../tokens.ts';

/** The deltas of a block add up to the block. */
export function* chunksOf(answer: Answer, tokensPerDelta: number): Generator<Chunk, void, undefined> {
  yield { type: 'start', usage: { ...answer.usage, output_tokens: 0 } };
  for (const [index, block] of answer.content.entries()) {
    yield { type: 'block_start', index, block: emptied(block) };
    for (const delta of deltasOf(block, tokensPerDelta)) yield { type: 'block_delta', index, delta };
    yield { type: 'block_stop', index };
  }
  const { stop_reason, stop_sequence, usage } = answer;
  yield { type: 'end', stop_reason, stop_sequence, usage };
}

function* deltasOf(block: AnswerBlock, size: number): Generator<Delta, void, undefined> {
  switch (block.type) {
    case 'text':
      for (const text of tokenGroups(block.text, size)) yield { type: 'text_delta', text };
      return;
    case 'tool_use':
      for (const partial_json of tokenGroups(jsonText(block.input), size)) {
        yield { type: 'input_json_delta', partial_json };
      }
      return;
    case 'thinking':
      for (const thinking of tokenGroups(block.thinking, size)) yield { type: 'thinking_delta', thinking };
      yield { type: 'signature_delta', signature: block.signature };
      return;
    case 'redacted_thinking':
      return;
  }
}
