import { jsonText } from '../../../json/exact-number.ts';
import { noTokens, type Usage } from '../../../tokens.ts';
import type { Chunk } from '../port.ts';
import { partBreak, signatureOf, thoughtIn } from '../reasoning-item.ts';
import { type Fields, fieldsOf, stringOf } from '../transport/fields.ts';
import { ChunkReader } from '../transport/translated-events.ts';
import { contentRefused, malformed } from '../transport/upstream-errors.ts';
import { BlockLine, Call, type Part } from './block-line.ts';
import type { CallId } from './chat-message.ts';
import { callIdOf, endOf, responseError, stopOf, textIn } from './responses-answer.ts';
import { guessedUsage, responseUsage } from './usage.ts';

/** An item of the output, from its first event. */
interface Item {
  part: Part | null;
  isSaid: boolean;
  /** Of reasoning: what its text comes from, which some servers send twice. */
  source: string | null;
}

/** Turns the events of a streamed response into chunks. What no delta has told is taken from the item once it is done. */
export class ResponseEventReader extends ChunkReader {
  readonly #mostTokens: number;
  readonly #callId: CallId;
  #started = false;
  readonly #line = new BlockLine();
  readonly #items = new Map<unknown, Item>();
  #called = 0;
  #usage: Usage | null = null;

  get counted(): Usage | null {
    return this.#usage;
  }

  /** @param mostTokens bounds reported counts */
  constructor(mostTokens: number, callId: CallId) {
    super();
    this.#mostTokens = mostTokens;
    this.#callId = callId;
  }

  protected read(event: Fields): readonly Chunk[] {
    const chunks: Chunk[] = [];
    if (!this.#started) {
      this.#started = true;
      chunks.push({ type: 'start', usage: noTokens });
    }
    this.#read(event, chunks);
    return chunks;
  }

  protected close(): never {
    throw malformed('the stream ends before the response does');
  }

  #read(event: Fields, chunks: Chunk[]): void {
    switch (event.type) {
      case 'response.output_item.added':
        this.#added(event, chunks);
        break;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#say(this.#itemOf(event), 'text', event.delta, chunks);
        break;
      case 'response.reasoning_text.delta':
        this.#thought(event, 'content', event.delta, chunks);
        break;
      case 'response.reasoning_summary_text.delta':
        this.#thought(event, 'summary', event.delta, chunks);
        break;
      case 'response.reasoning_summary_part.added':
        if (this.#itemOf(event).isSaid) this.#thought(event, 'summary', partBreak, chunks);
        break;
      case 'response.function_call_arguments.delta':
        this.#argue(this.#itemOf(event), event.delta, chunks);
        break;
      case 'response.output_item.done':
        this.#done(event, chunks);
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.#end(fieldsOf(event.response, 'response'), chunks);
        break;
      case 'error':
        throw responseError(event.error ?? event);
    }
  }

  /** Some servers give their items one index, and others change an item's id from event to event. */
  #itemOf({ output_index: index, item_id: id }: Fields): Item {
    const key = index ?? id;
    const item = this.#items.get(key) ?? { part: null, isSaid: false, source: null };
    this.#items.set(key, item);
    return item;
  }

  #added(event: Fields, chunks: Chunk[]): void {
    const item = fieldsOf(event.item, 'an item');
    const place = { output_index: event.output_index, item_id: item.id };
    this.#items.delete(place.output_index ?? place.item_id);
    if (item.type === 'function_call') this.#call(this.#itemOf(place), item, chunks);
  }

  #call(known: Item, item: Fields, chunks: Chunk[]): void {
    const call = new Call(null, this.#callId(this.#called));
    call.id = callIdOf(item) ?? this.#callId(this.#called);
    call.name = nameIn(item);
    call.isNamed = true;
    known.part = this.#line.begin('tool_use', call);
    this.#line.advance(chunks);
    this.#called += 1;
  }

  #say(item: Item, type: 'text' | 'thinking', delta: unknown, chunks: Chunk[]): void {
    const text = stringOf(delta, 'delta');
    if (text === '') return;
    item.isSaid = true;
    this.#line.add(this.#partOf(item, type), text, chunks);
  }

  /** Some servers tell neither indexes nor ids, so that a thought and a text are one item. */
  #partOf(item: Item, type: 'text' | 'thinking'): Part {
    const { part } = item;
    if (part !== null && part.type === type && !part.hasEnded) return part;
    item.part = this.#line.begin(type, null);
    return item.part;
  }

  #thought(event: Fields, source: string, delta: unknown, chunks: Chunk[]): void {
    const item = this.#itemOf(event);
    item.source ??= source;
    if (item.source === source) this.#say(item, 'thinking', delta, chunks);
  }

  /** A call that was not announced comes whole. */
  #argue(item: Item, delta: unknown, chunks: Chunk[]): void {
    const text = stringOf(delta, 'delta');
    if (item.part?.type !== 'tool_use' || text === '') return;
    item.isSaid = true;
    this.#line.add(item.part, text, chunks);
  }

  #done(event: Fields, chunks: Chunk[]): void {
    const item = fieldsOf(event.item, 'an item');
    const place = { output_index: event.output_index, item_id: item.id };
    const known = this.#itemOf(place);
    this.#items.delete(place.output_index ?? place.item_id);
    switch (item.type) {
      case 'message':
        if (!known.isSaid) this.#say(known, 'text', textIn(item), chunks);
        break;
      case 'reasoning':
        this.#think(known, item, chunks);
        break;
      case 'function_call':
        if (known.part?.type !== 'tool_use') this.#call(known, item, chunks);
        // Some servers announce a call without its name.
        else if (known.part.call!.name === '') known.part.call!.name = nameIn(item);
        if (!known.isSaid) this.#argue(known, argumentsIn(item), chunks);
    }
  }

  #think(known: Item, item: Fields, chunks: Chunk[]): void {
    if (!known.isSaid) this.#say(known, 'thinking', thoughtIn(item), chunks);
    const signature = signatureOf(item);
    if (signature === '') return;
    this.#partOf(known, 'thinking').signature = signature;
  }

  #end(response: Fields, chunks: Chunk[]): void {
    this.#usage = responseUsage(response, this.#mostTokens);
    const end = endOf(response);
    // Some servers tell the items at the end alone.
    if (this.#line.ended === 0 && this.#line.last === undefined && Array.isArray(response.output))
      for (const [output_index, item] of response.output.entries()) this.#done({ output_index, item }, chunks);
    this.#line.end(end === 'cut', chunks);
    const usage = guessedUsage(this.#usage, this.#line.bytes);
    if (end === 'filtered' && this.#line.ended === 0) throw contentRefused(usage);
    this.ended = true;
    chunks.push({ type: 'end', ...stopOf(end, this.#called > 0), usage });
  }
}

const nameIn = ({ name }: Fields): string => stringOf(name ?? '', 'name');

const argumentsIn = ({ arguments: said }: Fields): string =>
  typeof said === 'object' && said !== null ? jsonText(said) : stringOf(said ?? '', 'arguments');
