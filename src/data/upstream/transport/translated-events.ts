import type { Usage } from '../../../tokens.ts';
import type { Chunk } from '../port.ts';
import { markIn, type StreamReader, textOf } from './answers.ts';
import { documentIn, frameAt } from './event-frames.ts';
import { type Fields, fieldsOf, parsedJson } from './fields.ts';

/** Reads events as chunks. The start waits for the next chunk: an upstream that sends 200 and fails at once gets an error status. */
export abstract class ChunkReader implements StreamReader<Chunk> {
  #start: Chunk | null = null;
  ended = false;

  abstract get counted(): Usage | null;

  /** @param document of the event, which is all of `frame` that most readers need @throws UpstreamError for an error event or a breach of the grammar */
  protected abstract read(event: Fields, document: string, frame: Buffer): readonly Chunk[];

  /** The body has ended, or says so. @throws UpstreamError if too early */
  protected abstract close(): readonly Chunk[];

  /** The end of the stream in some APIs. */
  protected done(): readonly Chunk[] {
    return [];
  }

  finish(): readonly Chunk[] {
    return this.#withStart(this.close());
  }

  readAll(events: Buffer): { readonly pieces: readonly Chunk[]; readonly failure: unknown } {
    const pieces: Chunk[] = [];
    let failure: unknown = null;
    try {
      for (let at = 0; at < events.length && !this.ended; ) {
        const frame = frameAt(events, at);
        at += frame.length;
        const document = documentIn(frame);
        if (document !== null) pieces.push(...this.#withStart(this.#chunksOf(document, frame)));
      }
    } catch (error) {
      failure = error;
    }
    return { pieces, failure };
  }

  #chunksOf(document: Buffer, frame: Buffer): readonly Chunk[] {
    const mark = markIn(document);
    if (mark !== null) return mark === 'done' ? this.done() : [];
    const text = textOf(document);
    return this.read(fieldsOf(parsedJson(text, 'the data of an event'), 'an event'), text, frame);
  }

  #withStart(chunks: readonly Chunk[]): readonly Chunk[] {
    const [first, ...rest] = this.#start === null ? chunks : [this.#start, ...chunks];
    this.#start = first?.type === 'start' && rest.length === 0 ? first : null;
    return this.#start === null && first !== undefined ? [first, ...rest] : [];
  }
}
