import { parseExactly } from '../../../json/document.ts';
import { jsonText } from '../../../json/exact-number.ts';
import type { Usage } from '../../../tokens.ts';
import { type AnswerBlock, type Chunk, type Delta, emptied } from '../port.ts';
import { type Fields, fieldsOf, stringOf } from '../transport/fields.ts';
import { ChunkReader } from '../transport/translated-events.ts';
import { contentRefused, errorOf, eventError, malformed } from '../transport/upstream-errors.ts';
import { isToolUse, readBlock, readStop } from './anthropic-blocks.ts';
import { UsageSoFar } from './usage.ts';

interface OpenBlock {
  /** The index at the upstream, which counts the blocks that are skipped here. */
  readonly theirs: number;
  readonly block: AnswerBlock | null;
  json: boolean;
}

/** Turns the events of a streamed message into chunks; enforces the grammar of contract G.5. */
export class EventReader extends ChunkReader {
  readonly #usage: UsageSoFar;
  #started = false;
  #open: OpenBlock | null = null;
  #blocks = 0;
  #stopReason: unknown = null;
  #stopSequence: unknown = null;

  get counted(): Usage {
    return this.#usage.now;
  }

  /** @param mostTokens bounds reported counts */
  constructor(mostTokens: number) {
    super();
    this.#usage = new UsageSoFar(mostTokens);
  }

  protected read(event: Fields, document: string): readonly Chunk[] {
    switch (event.type) {
      case 'message_start':
        return this.#start(event);
      case 'content_block_start':
        return this.#startBlock(isToolUse(event.content_block) ? (parseExactly(document) as Fields) : event);
      case 'content_block_delta':
        return this.#delta(event);
      case 'content_block_stop':
        return this.#stopBlock(event);
      case 'message_delta':
        return this.#messageDelta(event);
      case 'message_stop':
        return this.#end();
      case 'error':
        throw eventError(errorOf(event));
      default:
        return [];
    }
  }

  protected close(): never {
    throw malformed('the stream ends before the message does');
  }

  #start(event: Fields): readonly Chunk[] {
    if (this.#started) throw malformed('a second message_start');
    this.#started = true;
    return [{ type: 'start', usage: this.#usage.start(fieldsOf(event.message, 'message').usage) }];
  }

  #startBlock(event: Fields): readonly Chunk[] {
    if (!this.#started || this.#open !== null) throw malformed('a block starts out of place');
    const block = readBlock(event.content_block);
    this.#open = { theirs: indexOf(event), block, json: false };
    if (block === null) return [];
    const index = this.#blocks;
    const chunks: Chunk[] = [{ type: 'block_start', index, block: emptied(block) }];
    // Some servers that imitate the API put the first piece into the block's start.
    if (block.type === 'text' && block.text !== '') {
      chunks.push({ type: 'block_delta', index, delta: { type: 'text_delta', text: block.text } });
    } else if (block.type === 'thinking' && block.thinking !== '') {
      chunks.push({ type: 'block_delta', index, delta: { type: 'thinking_delta', thinking: block.thinking } });
    }
    return chunks;
  }

  #delta(event: Fields): readonly Chunk[] {
    const open = this.#opened(event);
    const delta = open.block === null ? null : readDelta(fieldsOf(event.delta, 'delta'), open.block);
    if (delta === null) return [];
    if (delta.type === 'input_json_delta' && delta.partial_json !== '') open.json = true;
    return [{ type: 'block_delta', index: this.#blocks, delta }];
  }

  #stopBlock(event: Fields): readonly Chunk[] {
    const { block, json } = this.#opened(event);
    this.#open = null;
    if (block === null) return [];
    const index = this.#blocks;
    this.#blocks += 1;
    const stop: Chunk = { type: 'block_stop', index };
    const rest = restOf(block, json);
    return rest === null ? [stop] : [{ type: 'block_delta', index, delta: rest }, stop];
  }

  #opened(event: Fields): OpenBlock {
    if (this.#open === null || this.#open.theirs !== indexOf(event))
      throw malformed('an event for a block that is not open');
    return this.#open;
  }

  #messageDelta(event: Fields): readonly Chunk[] {
    if (!this.#started) throw malformed('a message_delta before the start');
    this.#usage.add(event.usage);
    const delta = fieldsOf(event.delta ?? {}, 'delta');
    this.#stopReason = delta.stop_reason ?? this.#stopReason;
    this.#stopSequence = delta.stop_sequence ?? this.#stopSequence;
    return [];
  }

  #end(): readonly Chunk[] {
    if (!this.#started || this.#open !== null) throw malformed('the message ends out of place');
    const usage = this.#usage.final(this.#usage.now);
    if (this.#stopReason === 'refusal' && this.#blocks === 0) throw contentRefused(usage);
    this.ended = true;
    return [{ type: 'end', ...readStop(this.#stopReason, this.#stopSequence), usage }];
  }
}

const indexOf = (event: Fields): number => {
  if (typeof event.index === 'number') return event.index;
  throw malformed('an event for a block has no index');
};

/** Null for a kind of delta that is not known here, such as citations. */
const readDelta = (delta: Fields, block: AnswerBlock): Delta | null => {
  const kind = deltaOf[block.type];
  switch (delta.type) {
    case 'text_delta':
      if (kind !== 'text') break;
      return { type: 'text_delta', text: stringOf(delta.text, 'text') };
    case 'input_json_delta':
      if (kind !== 'json') break;
      return { type: 'input_json_delta', partial_json: stringOf(delta.partial_json, 'partial_json') };
    case 'thinking_delta':
      if (kind !== 'thinking') break;
      return { type: 'thinking_delta', thinking: stringOf(delta.thinking, 'thinking') };
    case 'signature_delta':
      if (kind !== 'thinking') break;
      return { type: 'signature_delta', signature: stringOf(delta.signature, 'signature') };
    default:
      return null;
  }
  throw malformed('a delta of the wrong kind for its block');
};

const deltaOf = { text: 'text', tool_use: 'json', thinking: 'thinking', redacted_thinking: 'none' } as const;

/** What only the start had: the input of a call, at least `{}`, and a signature. */
const restOf = (block: AnswerBlock, json: boolean): Delta | null => {
  if (block.type === 'tool_use' && !json) return { type: 'input_json_delta', partial_json: jsonText(block.input) };
  if (block.type === 'thinking' && block.signature !== '')
    return { type: 'signature_delta', signature: block.signature };
  return null;
};
