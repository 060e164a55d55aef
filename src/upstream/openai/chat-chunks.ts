import { type AnswerBlock, type Chunk, type Delta, noUsage, type Usage } from '../port.ts';
import type { ChunkReader } from '../transport/answers.ts';
import { type Fields, fieldsOf, parsedJson, stringOf } from '../transport/fields.ts';
import { toolUse } from '../transport/tool-use.ts';
import { errorOf, eventError, type Hide, malformed, upstreamError } from '../transport/upstream-errors.ts';
import { type CallId, textIn, thoughtIn } from './chat-completion.ts';
import { guessedUsage, readStop, readUsage } from './chat-usage.ts';

/** The block that is being written: blocks of an answer never interleave. */
interface Open {
  readonly type: 'text' | 'thinking' | 'tool_use';
  /** Of a call, its index at the upstream. */
  readonly call: number;
  /** Whether anything has been written of it. */
  written: boolean;
}

/** Turns the chunks of a streamed chat completion into those of an answer. */
export class ChatChunkReader implements ChunkReader {
  readonly #mostTokens: number;
  readonly #hide: Hide;
  readonly #callId: CallId;
  #started = false;
  #open: Open | null = null;
  #blocks = 0;
  #calls = 0;
  #bytes = 0;
  #usage: Usage | null = null;
  #finish: unknown = null;
  #sequence: unknown = null;
  ended = false;

  /** @param mostTokens that a count of tokens may say */
  constructor(mostTokens: number, hide: Hide, callId: CallId) {
    this.#mostTokens = mostTokens;
    this.#hide = hide;
    this.#callId = callId;
  }

  /** @throws UpstreamError for an error and for what is no chunk */
  read(data: string): readonly Chunk[] {
    if (this.ended) return [];
    if (data === '[DONE]') return this.finish();
    const chunk = fieldsOf(parsedJson(data, 'the data of an event'), 'an event');
    if (chunk.error != null || chunk.object === 'error') throw eventError(errorOf(chunk), this.#hide);
    if (!Array.isArray(chunk.choices)) throw malformed('a chunk has no choices');
    this.#usage = readUsage(chunk.usage, this.#mostTokens) ?? this.#usage;
    const chunks: Chunk[] = [];
    if (!this.#started) {
      this.#started = true;
      chunks.push({ type: 'start', usage: noUsage });
    }
    if (chunk.choices.length > 0) this.#choice(fieldsOf(chunk.choices[0], 'a choice'), chunks);
    return chunks;
  }

  /** Not every server says `[DONE]`, but all say why they have finished. */
  finish(): readonly Chunk[] {
    if (this.#finish === null) throw malformed('the stream ends before the answer does');
    const chunks: Chunk[] = [];
    this.#close(chunks);
    if (this.#finish === 'content_filter' && this.#blocks === 0) throw upstreamError('content_refused');
    this.ended = true;
    const stop = readStop(this.#finish, this.#calls > 0, this.#sequence);
    chunks.push({ type: 'end', ...stop, usage: guessedUsage(this.#usage, this.#bytes) });
    return chunks;
  }

  #choice({ delta, finish_reason: reason, stop_reason: sequence }: Fields, chunks: Chunk[]): void {
    if (delta != null) this.#delta(fieldsOf(delta, 'delta'), chunks);
    this.#finish = reason ?? this.#finish;
    this.#sequence = sequence ?? this.#sequence;
  }

  #delta(delta: Fields, chunks: Chunk[]): void {
    const [thinking, text] = [thoughtIn(delta), textIn(delta)];
    if (thinking !== null) {
      if (this.#open?.type !== 'thinking') this.#begin({ type: 'thinking', thinking: '', signature: '' }, -1, chunks);
      this.#write({ type: 'thinking_delta', thinking }, thinking, chunks);
    }
    if (text !== null) {
      if (this.#open?.type !== 'text') this.#begin({ type: 'text', text: '' }, -1, chunks);
      this.#write({ type: 'text_delta', text }, text, chunks);
    }
    if (delta.tool_calls == null) return;
    if (!Array.isArray(delta.tool_calls)) throw malformed('tool_calls is not a list');
    for (const call of delta.tool_calls) this.#call(fieldsOf(call, 'a call'), chunks);
  }

  #call(call: Fields, chunks: Chunk[]): void {
    const said = call.function == null ? {} : fieldsOf(call.function, 'function');
    const index = this.#indexOf(call, said);
    if (this.#open?.call !== index) {
      if (index < this.#calls) throw malformed('a piece of a call that has ended');
      const { id } = call;
      this.#begin(toolUse(id == null || id === '' ? this.#callId(index) : id, said.name, {}), index, chunks);
      this.#calls = index + 1;
    }
    const partial_json = said.arguments == null ? '' : stringOf(said.arguments, 'arguments');
    if (partial_json !== '') this.#write({ type: 'input_json_delta', partial_json }, partial_json, chunks);
  }

  /** Servers that write a call in one piece may leave its index out; one with a name is then another call. */
  #indexOf({ index }: Fields, { name }: Fields): number {
    if (index == null) return name == null && this.#open?.type === 'tool_use' ? this.#open.call : this.#calls;
    if (Number.isSafeInteger(index) && (index as number) >= 0) return index as number;
    throw malformed('the index of a call is not a number');
  }

  #begin(block: Exclude<AnswerBlock, { type: 'redacted_thinking' }>, call: number, chunks: Chunk[]): void {
    this.#close(chunks);
    this.#open = { type: block.type, call, written: false };
    chunks.push({ type: 'block_start', index: this.#blocks, block });
  }

  #write(delta: Delta, text: string, chunks: Chunk[]): void {
    this.#open!.written = true;
    this.#bytes += Buffer.byteLength(text);
    chunks.push({ type: 'block_delta', index: this.#blocks, delta });
  }

  #close(chunks: Chunk[]): void {
    if (this.#open === null) return;
    // A call without arguments has none, and its input is an object all the same.
    if (this.#open.type === 'tool_use' && !this.#open.written) {
      this.#write({ type: 'input_json_delta', partial_json: '{}' }, '{}', chunks);
    }
    chunks.push({ type: 'block_stop', index: this.#blocks });
    this.#blocks += 1;
    this.#open = null;
  }
}
