import type { AnswerBlock, Chunk, Delta } from '../port.ts';
import { maxAnswerBytes } from '../transport/limits.ts';
import { malformed } from '../transport/upstream-errors.ts';
import { ArgumentsEnd } from './arguments-end.ts';

export interface Part {
  readonly block: Exclude<AnswerBlock, { type: 'redacted_thinking' }>;
  /** Of a call: where its arguments end. */
  readonly arguments: ArgumentsEnd | null;
  /** Text that came while another block was being written. */
  waiting: string;
  /** Of thinking; goes out at its end. */
  signature: string;
  isWritten: boolean;
  hasEnded: boolean;
}

/** Servers interleave parallel calls, contract G.5 does not: a block waits while another call's JSON is incomplete. */
export class BlockLine {
  readonly #parts: Part[] = [];
  #waitingBytes = 0;
  bytes = 0;
  ended = 0;

  get last(): Part | undefined {
    return this.#parts.at(-1);
  }

  begin(block: Part['block'], chunks: Chunk[]): Part {
    const end = block.type === 'tool_use' ? new ArgumentsEnd() : null;
    const part: Part = { block, arguments: end, waiting: '', signature: '', isWritten: false, hasEnded: false };
    while (this.#parts.length > 0 && isOver(this.#parts[0]!)) this.#endFirst(chunks);
    this.#parts.push(part);
    if (this.#parts.length === 1) this.#open(part, chunks);
    return part;
  }

  /** @throws UpstreamError for more of an ended call, or arguments that are no object */
  add(part: Part, text: string, chunks: Chunk[]): void {
    if (part.hasEnded) {
      if (text.trim() === '') return;
      throw malformed('a piece of a call that has ended');
    }
    const bytes = Buffer.byteLength(text);
    this.bytes += bytes;
    part.arguments?.add(text);
    if (part !== this.#parts[0]) {
      this.#waitingBytes += bytes;
      if (this.#waitingBytes > maxAnswerBytes) throw malformed('too much comes before the end of a call');
      part.waiting += text;
      return;
    }
    this.#write(part, text, chunks);
    while (this.#parts.length > 1 && isOver(this.#parts[0]!)) this.#endFirst(chunks);
  }

  /** @throws UpstreamError for incomplete arguments, unless `isCut` */
  end(isCut: boolean, chunks: Chunk[]): void {
    while (this.#parts.length > 0) {
      const { arguments: end, isWritten, waiting } = this.#parts[0]!;
      if (end !== null && !end.isWhole && !isCut && (isWritten || waiting !== '')) {
        throw malformed('the arguments of a call do not end');
      }
      this.#endFirst(chunks);
    }
  }

  #open(part: Part, chunks: Chunk[]): void {
    chunks.push({ type: 'block_start', index: this.ended, block: part.block });
    if (part.waiting !== '') this.#write(part, part.waiting, chunks);
    part.waiting = '';
  }

  #write(part: Part, text: string, chunks: Chunk[]): void {
    part.isWritten = true;
    chunks.push({ type: 'block_delta', index: this.ended, delta: deltaOf(part.block.type, text) });
  }

  #endFirst(chunks: Chunk[]): void {
    const part = this.#parts.shift()!;
    // A call without arguments has the input `{}`.
    if (part.arguments !== null && !part.isWritten) this.#write(part, '{}', chunks);
    const { signature } = part;
    if (signature !== '')
      chunks.push({ type: 'block_delta', index: this.ended, delta: { type: 'signature_delta', signature } });
    chunks.push({ type: 'block_stop', index: this.ended });
    part.hasEnded = true;
    this.ended += 1;
    const next = this.#parts[0];
    if (next !== undefined) this.#open(next, chunks);
  }
}

const isOver = (part: Part): boolean => part.arguments === null || part.arguments.isWhole;

const deltaOf = (type: Part['block']['type'], text: string): Delta => {
  switch (type) {
    case 'text':
      return { type: 'text_delta', text };
    case 'thinking':
      return { type: 'thinking_delta', thinking: text };
    case 'tool_use':
      return { type: 'input_json_delta', partial_json: text };
  }
};
