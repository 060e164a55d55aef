import type { AnswerBlock, Chunk, Delta } from '../port.ts';
import { maxAnswerBytes } from '../transport/limits.ts';
import { toolUse } from '../transport/tool-use.ts';
import { malformed } from '../transport/upstream-errors.ts';
import { ArgumentsEnd } from './arguments-end.ts';

type Type = Exclude<AnswerBlock['type'], 'redacted_thinking'>;

/** Of a call in the list that servers tell. */
export type Index = number | string;

/** A call as far as it has come: its id and its name may come late, and the name in pieces. */
export class Call {
  /** Null if it has none. */
  readonly index: Index | null;
  /** In place of one that does not come. */
  readonly #ownId: string;
  readonly arguments = new ArgumentsEnd();
  id: string | null = null;
  name = '';
  /** A piece of the arguments has come without one of the name. */
  isNamed = false;

  constructor(index: Index | null, ownId: string) {
    this.index = index;
    this.#ownId = ownId;
  }

  get block(): AnswerBlock {
    return toolUse(this.id ?? this.#ownId, this.name, {});
  }
}

export interface Part<C extends Call | null = Call | null> {
  readonly type: Type;
  readonly call: C;
  /** What came while it could not be written. */
  waiting: string;
  /** Of thinking; goes out at its end. */
  signature: string;
  isOpen: boolean;
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

  begin<C extends Call | null>(type: Type, call: C): Part<C> {
    const part: Part<C> = { type, call, waiting: '', signature: '', isOpen: false, isWritten: false, hasEnded: false };
    this.#parts.push(part);
    return part;
  }

  /** @throws UpstreamError for more of an ended call, or arguments that are no object */
  add(part: Part, text: string, chunks: Chunk[]): void {
    if (part.hasEnded) {
      if (text.trim() === '') return;
      throw malformed('a piece of a call that has ended');
    }
    const more = part.call === null ? text : part.call.arguments.add(text);
    const bytes = Buffer.byteLength(more);
    this.bytes += bytes;
    // Most text comes for the block that is being written.
    if (!part.isOpen) {
      this.#waitingBytes += bytes;
      if (this.#waitingBytes > maxAnswerBytes) throw malformed('too much comes before the end of a call');
      part.waiting += more;
    } else if (more !== '') this.#write(part, more, chunks);
    this.advance(chunks);
  }

  /** Writes what need not wait any longer. */
  advance(chunks: Chunk[]): void {
    for (let first = this.#parts[0]; first !== undefined; first = this.#parts[0]) {
      if (!first.isOpen && isReady(first)) this.#open(first, chunks);
      if (this.#parts.length === 1 || !isOver(first)) return;
      this.#endFirst(chunks);
    }
  }

  /** @throws UpstreamError for incomplete arguments, unless `isCut` */
  end(isCut: boolean, chunks: Chunk[]): void {
    while (this.#parts.length > 0) {
      const end = this.#parts[0]!.call?.arguments;
      if (end?.isBegun === true && !end.isWhole && !isCut) throw malformed('the arguments of a call do not end');
      this.#endFirst(chunks);
    }
  }

  #open(part: Part, chunks: Chunk[]): void {
    chunks.push({ type: 'block_start', index: this.ended, block: part.call?.block ?? emptyBlocks[part.type] });
    part.isOpen = true;
    if (part.waiting !== '') this.#write(part, part.waiting, chunks);
    part.waiting = '';
  }

  #write(part: Part, text: string, chunks: Chunk[]): void {
    part.isWritten = true;
    chunks.push({ type: 'block_delta', index: this.ended, delta: deltaOf(part.type, text) });
  }

  #endFirst(chunks: Chunk[]): void {
    const part = this.#parts.shift()!;
    if (!part.isOpen) this.#open(part, chunks);
    // A call without arguments has the input `{}`.
    if (part.call !== null && !part.isWritten) this.#write(part, '{}', chunks);
    const { signature } = part;
    if (signature !== '')
      chunks.push({ type: 'block_delta', index: this.ended, delta: { type: 'signature_delta', signature } });
    chunks.push({ type: 'block_stop', index: this.ended });
    part.hasEnded = true;
    this.ended += 1;
  }
}

/** A client is told the id and the name of a call before its arguments. */
const isReady = ({ call, waiting }: Part): boolean =>
  call === null ||
  (call.id !== null && call.name !== '' && (call.arguments.isWhole || (call.isNamed && waiting !== '')));

const isOver = ({ call }: Part): boolean => call === null || (call.arguments.isWhole && call.name !== '');

const emptyBlocks = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
} as Readonly<Record<Type, AnswerBlock>>;

const deltaOf = (type: Type, text: string): Delta => {
  switch (type) {
    case 'text':
      return { type: 'text_delta', text };
    case 'thinking':
      return { type: 'thinking_delta', thinking: text };
    case 'tool_use':
      return { type: 'input_json_delta', partial_json: text };
  }
};
