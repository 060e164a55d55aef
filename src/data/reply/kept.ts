import type { Refusal } from '../../errors.ts';
import type { Hold } from '../../http/route.ts';
import { streamedText } from '../../rules/text/answer-stream.ts';
import { inputOf } from '../../rules/text/answer-text.ts';
import type { ResponseText } from '../../rules/text/request-text.ts';
import type { Chunk, Delta, PassedEvents } from '../upstream/port.ts';
import { appended } from '../upstream/transport/appended.ts';
import { type AnswerJudge, answerOf, type Ending } from './answer-judge.ts';

type Watch = Pick<AnswerJudge, 'endpoint'>;

/** Streamed answers kept in one copy for policies, as far as the memory budget allows. */
export abstract class Kept<T> {
  protected readonly watch: Watch;
  readonly #hold: Hold;
  #refused: Refusal | undefined;

  constructor(watch: Watch, hold: Hold) {
    this.watch = watch;
    this.#hold = hold;
  }

  /** Returns why there is no room; then nothing is kept any more. */
  add(piece: T): Refusal | undefined {
    if (this.#refused !== undefined) return this.#refused;
    this.#refused = this.#hold(this.sizeOf(piece));
    if (this.#refused === undefined) this.keep(piece);
    else this.forget();
    return this.#refused;
  }

  /** @throws if it was not kept */
  async text(): Promise<ResponseText> {
    if (this.#refused !== undefined) throw new Error(`An answer could not be judged. ${this.#refused.message}`);
    return this.read();
  }

  /** In other pieces than they came, and released as they are taken. */
  abstract take(): Iterable<T>;
  protected abstract sizeOf(piece: T): number;
  protected abstract keep(piece: T): void;
  protected abstract forget(): void;
  protected abstract read(): ResponseText | Promise<ResponseText>;
}

const noBytes: Buffer = Buffer.alloc(0);
/** A single larger piece has its own block. */
const blockBytes = 64 * 1024;

/** Judged at the end however it comes: a client that leaves early evades nothing. */
export class KeptEvents extends Kept<PassedEvents> {
  #start: Buffer | null = null;
  #blocks: Buffer[] = [];
  #block: Buffer = noBytes;
  #length = 0;
  #last: PassedEvents | undefined;

  protected sizeOf({ start, events }: PassedEvents): number {
    return (start?.length ?? 0) + events.length;
  }

  protected keep(piece: PassedEvents): void {
    const { start, events } = piece;
    this.#start ??= start;
    this.#last = { ...piece, start: null, events: noBytes };
    this.#block = appended(this.#block, this.#length, events);
    this.#length += events.length;
    if (this.#length >= blockBytes) this.#cut();
  }

  protected forget(): void {
    this.#start = null;
    this.#blocks = [];
    this.#block = noBytes;
  }

  protected async read(): Promise<ResponseText> {
    this.#cut();
    const { add, text } = streamedText(this.watch.endpoint);
    if (this.#start !== null) add(this.#start.toString());
    for (const [index, block] of this.#blocks.entries()) {
      // Yields to the event loop while a long answer is read.
      if (index > 0) await new Promise((resolve) => setImmediate(resolve));
      add(block.toString());
    }
    return text();
  }

  *take(): Generator<PassedEvents> {
    this.#cut();
    do {
      const [start, events = noBytes] = [this.#start, this.#blocks.shift()];
      this.#start = null;
      const ended = this.#last!.ended && this.#blocks.length === 0;
      yield { ...this.#last!, start, events, ended };
    } while (this.#blocks.length > 0);
  }

  #cut(): void {
    if (this.#length === 0) return;
    this.#blocks.push(Buffer.from(this.#block.subarray(0, this.#length)));
    this.#block = noBytes;
    this.#length = 0;
  }
}

const textNames = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  input_json_delta: 'partial_json',
} as const satisfies Record<Delta['type'], string>;
export const textIn = (delta: Delta): string =>
  (delta as unknown as Readonly<Record<string, string>>)[textNames[delta.type]]!;

/** Joined deltas: an object for each takes many times as much. */
interface Run {
  readonly type: 'run';
  readonly index: number;
  readonly kind: Delta['type'];
  readonly text: string;
  readonly lengths: readonly number[];
}

const deltaOf = (kind: Delta['type'], text: string): Delta =>
  ({ type: kind, [textNames[kind]]: text }) as unknown as Delta;

function* deltasOf({ index, kind, text, lengths }: Run): Generator<Chunk> {
  let at = 0;
  for (const length of lengths) {
    yield { type: 'block_delta', index, delta: deltaOf(kind, text.slice(at, at + length)) };
    at += length;
  }
}

/** The pieces of the present run are joined in groups of this size. */
const mostPieces = 1024;
const lengthBytes = 8;

export class KeptChunks extends Kept<Chunk> {
  #kept: (Chunk | Run)[] = [];
  #place: { readonly index: number; readonly kind: Delta['type'] } | null = null;
  #pieces: string[] = [];

  protected sizeOf(chunk: Chunk): number {
    if (chunk.type === 'block_delta') return Buffer.byteLength(textIn(chunk.delta)) + lengthBytes;
    return Buffer.byteLength(JSON.stringify(chunk));
  }

  protected keep(chunk: Chunk): void {
    if (chunk.type !== 'block_delta') {
      this.#join();
      this.#kept.push(chunk);
      return;
    }
    const { index, delta } = chunk;
    const place = this.#place;
    if (place?.index !== index || place.kind !== delta.type || this.#pieces.length === mostPieces) this.#join();
    this.#place ??= { index, kind: delta.type };
    this.#pieces.push(textIn(delta));
  }

  protected forget(): void {
    this.#kept = [];
    this.#pieces = [];
  }

  protected read(): ResponseText {
    this.#join();
    return chunksText(this.#kept, this.watch);
  }

  *take(): Generator<Chunk> {
    this.#join();
    for (let each = this.#kept.shift(); each !== undefined; each = this.#kept.shift()) {
      if (each.type === 'run') yield* deltasOf(each);
      else yield each;
    }
  }

  #join(): void {
    if (this.#place === null) return;
    const lengths = this.#pieces.map(({ length }) => length);
    this.#kept.push({ type: 'run', ...this.#place, text: this.#pieces.join(''), lengths });
    this.#pieces = [];
    this.#place = null;
  }
}

const chunksText = (chunks: readonly (Chunk | Run)[], watch: Watch): ResponseText => {
  const blocks: { type: string; [field: string]: unknown }[] = [];
  const inputs = new Map<number, string>();
  let ending: Ending | undefined;
  for (const chunk of chunks) {
    if (chunk.type === 'block_start') blocks[chunk.index] = { ...chunk.block };
    else if (chunk.type === 'run') {
      const { index, kind, text } = chunk;
      const [block, name] = [blocks[index]!, textNames[kind]];
      if (name === 'partial_json') inputs.set(index, (inputs.get(index) ?? '') + text);
      else block[name] = `${block[name]}${text}`;
    } else if (chunk.type === 'end') ending = chunk;
  }
  const content = blocks.map((block, index) => {
    const input = inputs.get(index);
    return input === undefined ? block : { ...block, input: inputOf(input) };
  });
  return ending === undefined ? { content, stopReason: '', outputTokens: 0 } : answerOf(content, ending, watch);
};
