import { noTokens, type Usage } from '../../../tokens.ts';
import type { Chunk } from '../port.ts';
import { type Fields, fieldsOf, stringOf } from '../transport/fields.ts';
import { toolUse } from '../transport/tool-use.ts';
import { ChunkReader } from '../transport/translated-events.ts';
import { contentRefused, errorOf, eventError, malformed } from '../transport/upstream-errors.ts';
import { BlockLine, type Part } from './block-line.ts';
import { type CallId, firstChoice, textIn, thoughtIn } from './chat-completion.ts';
import { chatUsage, guessedUsage, readStop } from './usage.ts';

export class ChatChunkReader extends ChunkReader {
  readonly #mostTokens: number;
  readonly #callId: CallId;
  #started = false;
  readonly #line = new BlockLine();
  readonly #calls = new Map<number, Part>();
  #called = 0;
  #lastIndex = -1;
  #usage: Usage | null = null;
  #finish: unknown = null;
  #sequence: unknown = null;

  get counted(): Usage | null {
    return this.#usage;
  }

  /** @param mostTokens bounds reported counts */
  constructor(mostTokens: number, callId: CallId) {
    super();
    this.#mostTokens = mostTokens;
    this.#callId = callId;
  }

  protected read(chunk: Fields): readonly Chunk[] {
    if (chunk.error != null || chunk.object === 'error') throw eventError(errorOf(chunk));
    if (!Array.isArray(chunk.choices)) throw malformed('a chunk has no choices');
    this.#usage = chatUsage(chunk, this.#mostTokens) ?? this.#usage;
    const chunks: Chunk[] = [];
    if (!this.#started) {
      this.#started = true;
      chunks.push({ type: 'start', usage: noTokens });
    }
    const choice = firstChoice(chunk.choices);
    if (choice !== null) this.#choice(choice, chunks);
    return chunks;
  }

  /** Not every server sends `[DONE]`; all send a finish reason. */
  protected close(): readonly Chunk[] {
    if (this.#finish === null) throw malformed('the stream ends before the answer does');
    const chunks: Chunk[] = [];
    this.#line.end(this.#finish === 'length', chunks);
    const usage = guessedUsage(this.#usage, this.#line.bytes);
    if (this.#finish === 'content_filter' && this.#line.ended === 0) throw contentRefused(usage);
    this.ended = true;
    const stop = readStop(this.#finish, this.#called > 0, this.#sequence);
    chunks.push({ type: 'end', ...stop, usage });
    return chunks;
  }

  protected override done(): readonly Chunk[] {
    return this.close();
  }

  #choice({ delta, finish_reason: reason, stop_reason: sequence }: Fields, chunks: Chunk[]): void {
    if (delta != null) this.#delta(fieldsOf(delta, 'delta'), chunks);
    // Some servers write it in each chunk, empty until the last.
    this.#finish = reason || this.#finish;
    this.#sequence = sequence ?? this.#sequence;
  }

  #delta(delta: Fields, chunks: Chunk[]): void {
    const [thinking, text] = [thoughtIn(delta), textIn(delta)];
    if (thinking !== null) this.#say({ type: 'thinking', thinking: '', signature: '' }, thinking, chunks);
    if (text !== null) this.#say({ type: 'text', text: '' }, text, chunks);
    if (delta.tool_calls == null) return;
    if (!Array.isArray(delta.tool_calls)) throw malformed('tool_calls is not a list');
    for (const call of delta.tool_calls) this.#call(fieldsOf(call, 'a call'), chunks);
  }

  #say(block: Part['block'], text: string, chunks: Chunk[]): void {
    const { last } = this.#line;
    this.#line.add(last?.block.type === block.type ? last : this.#line.begin(block, chunks), text, chunks);
  }

  #call(call: Fields, chunks: Chunk[]): void {
    const said = call.function == null ? {} : fieldsOf(call.function, 'function');
    const id = call.id === '' ? null : (call.id ?? null);
    const index = this.#indexOf(call, said);
    this.#lastIndex = index;
    let part = this.#calls.get(index);
    if (part === undefined || isAnother(part, id, said)) {
      part = this.#line.begin(toolUse(id ?? this.#callId(this.#called), said.name, {}), chunks);
      this.#calls.set(index, part);
      this.#called += 1;
    }
    const text = said.arguments == null ? '' : stringOf(said.arguments, 'arguments');
    if (text !== '') this.#line.add(part, text, chunks);
  }

  /** Servers that send a call in one piece may omit its index; a name then begins another call. */
  #indexOf({ index }: Fields, { name }: Fields): number {
    if (index == null) return name == null ? this.#lastIndex : this.#called;
    if (Number.isSafeInteger(index) && (index as number) >= 0) return index as number;
    throw malformed('the index of a call is not a number');
  }
}

/** Some servers give all calls one index; they differ by id, and each has a name. */
const isAnother = ({ block }: Part, id: unknown, { name }: Fields): boolean =>
  id !== null && name != null && name !== '' && block.type === 'tool_use' && block.id !== id;
