import { noTokens, type Usage } from '../../../tokens.ts';
import type { Chunk } from '../port.ts';
import { isNamed } from '../transport/event-frames.ts';
import { type Fields, fieldsOf } from '../transport/fields.ts';
import { ChunkReader } from '../transport/translated-events.ts';
import { contentRefused, errorOf, eventError, isFailure, malformed } from '../transport/upstream-errors.ts';
import { type CallId, ChatMessage, firstChoice } from './chat-message.ts';
import { chatUsage, guessedUsage, readStop } from './usage.ts';

export class ChatChunkReader extends ChunkReader {
  readonly #mostTokens: number;
  readonly #message: ChatMessage;
  #started = false;
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
    this.#message = new ChatMessage(callId, false);
  }

  protected read(chunk: Fields, document: string, frame: Buffer): readonly Chunk[] {
    if (isFailure(chunk.error) || chunk.object === 'error') throw eventError(errorOf(chunk));
    const { choices } = chunk;
    if (choices == null && isNamed(frame, 'error')) throw eventError(errorOf({ error: chunk }));
    if (choices != null && !Array.isArray(choices)) throw malformed('choices is not a list');
    this.#usage = chatUsage(chunk, this.#mostTokens) ?? this.#usage;
    const chunks: Chunk[] = [];
    if (!this.#started) {
      this.#started = true;
      chunks.push({ type: 'start', usage: noTokens });
    }
    const choice = firstChoice(choices ?? []);
    if (choice !== null) this.#choice(choice, document, chunks);
    return chunks;
  }

  /** Not every server sends `[DONE]`; all send a finish reason. */
  protected close(): readonly Chunk[] {
    if (this.#finish === null) throw malformed('the stream ends before the answer does');
    const { line, called } = this.#message;
    const chunks: Chunk[] = [];
    line.end(this.#finish === 'length', chunks);
    const usage = guessedUsage(this.#usage, line.bytes);
    if (this.#finish === 'content_filter' && line.ended === 0) throw contentRefused(usage);
    this.ended = true;
    chunks.push({ type: 'end', ...readStop(this.#finish, called > 0, this.#sequence), usage });
    return chunks;
  }

  protected override done(): readonly Chunk[] {
    return this.close();
  }

  #choice({ delta, finish_reason: reason, stop_reason: sequence }: Fields, document: string, chunks: Chunk[]): void {
    if (delta != null) this.#message.add(fieldsOf(delta, 'delta'), document, chunks);
    // Some servers write it in each chunk, empty until the last.
    this.#finish = reason || this.#finish;
    this.#sequence = sequence ?? this.#sequence;
  }
}
