import type { TextApi } from '../../apis.ts';
import { withoutRepeats } from './answer-marks.ts';
import { answerOf, hiddenIn, inputOf, isObject, type Json, jsonOf, listOf, objectOf } from './answer-text.ts';
import type { ResponseText } from './request-text.ts';

// Streamed answers, assembled from their events.

type Made = Record<string, unknown>;

/** Members that later events do not continue. */
const labels: ReadonlySet<string> = new Set(['type', 'role', 'id', 'index', 'object', 'status']);

/** Adds an event to what is known: strings and lists are continued, lists by `index` and `id` if there are any. */
const extend = (known: Made, more: Json): void => {
  for (const [name, value] of Object.entries(more)) {
    if (value === null || value === undefined) continue;
    const old = Object.hasOwn(known, name) ? known[name] : undefined;
    if (old === undefined) set(known, name, copyOf(value));
    else if (old !== value || !labels.has(name)) set(known, name, joined(old, value));
  }
};

const set = (known: Made, name: string, value: unknown): void => {
  Object.defineProperty(known, name, { value, enumerable: true, configurable: true, writable: true });
};

const copyOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copyOf);
  // JSON does not have the doubles that `1e400` becomes; written as null, rules would not read them.
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return String(value);
  if (!isObject(value)) return value;
  const copy: Made = {};
  extend(copy, value);
  return copy;
};

const joined = (old: unknown, value: unknown): unknown => {
  if (typeof old === 'string' && typeof value === 'string') return old + value;
  if (isObject(old) && isObject(value)) {
    extend(old as Made, value);
    return old;
  }
  if (Array.isArray(value)) return listed(Array.isArray(old) ? old : [old], value);
  if (Array.isArray(old)) return listed(old, [value]);
  return typeof value === 'string' || typeof old === 'string' || isObject(value) ? [old, value] : value;
};

const listed = (known: unknown[], more: readonly unknown[]): unknown[] => {
  for (const item of more) {
    const at = isObject(item) ? placeOf(known, item) : -1;
    const last = known.at(-1);
    if (at !== -1) extend(known[at] as Made, item as Json);
    else if (isTextAfter(last, item)) (last as Made).text = `${(last as Made).text}${(item as Json).text}`;
    else known.push(copyOf(item));
  }
  return known;
};

/** Where an item goes on; -1 for a new one. Some servers give all calls one index, others none. */
const placeOf = (known: readonly unknown[], item: Json): number => {
  const { index, id } = item;
  if (index === undefined && !isRestOfCall(item)) return -1;
  return known.findLastIndex((each) => {
    const other = objectOf(each);
    return (!id || !other.id || other.id === id) && (index === undefined ? isCall(other) : other.index === index);
  });
};

const isCall = ({ function: called, custom }: Json): boolean => isObject(called) || isObject(custom);
const isRestOfCall = (item: Json): boolean => isCall(item) && !objectOf(item.function ?? item.custom).name;

const isTextAfter = (last: unknown, item: unknown): boolean =>
  isObject(last) &&
  isObject(item) &&
  last.type === item.type &&
  typeof last.text === 'string' &&
  typeof item.text === 'string' &&
  Object.keys(item).length === 2;

/** Everything that does not fit the form of the stream, once each; pieces are joined by their place. */
class Rest {
  readonly #said = new Map<string, unknown>();
  readonly #made: Made = {};

  add(value: unknown): void {
    const key = typeof value === 'string' ? value : JSON.stringify(value);
    if (key !== undefined && key !== '{}') this.#said.set(key, value);
  }
  addTo(place: string, piece: Json): void {
    extend(this.#made, { [place]: piece });
  }
  all(): readonly unknown[] {
    return [...this.#said.values(), this.#made];
  }
}

interface Stream {
  add(event: Json): void;
  body(): Json;
}

const messageStream = (rest: Rest): Stream => {
  const blocks = new Map<unknown, Made>();
  const inputs = new Map<unknown, string>();
  const whole: Made = {};
  return {
    add({ type, index, ...event }) {
      if (type === 'message_start') {
        const { content, id: _, model: __, ...others } = objectOf(event.message);
        rest.add(content);
        extend(whole, others);
      } else if (type === 'content_block_start') {
        rest.add(blocks.get(index));
        blocks.set(index, copyOf(objectOf(event.content_block)) as Made);
      } else if (type === 'content_block_delta') {
        const { type: kind, partial_json: input, ...delta } = objectOf(event.delta);
        const block = blocks.get(index) ?? { type: '' };
        blocks.set(index, block);
        if (typeof input === 'string') inputs.set(index, (inputs.get(index) ?? '') + input);
        else if (input !== undefined) rest.add(input);
        if (kind === 'citations_delta') extend(block, { citations: [delta.citation] });
        else extend(block, delta);
      } else if (type === 'message_delta') {
        const { usage, delta, ...others } = event;
        whole.usage = { ...objectOf(whole.usage), ...objectOf(usage) };
        Object.assign(whole, objectOf(delta));
        // The next event replaces these values.
        for (const each of [usage, delta, others]) rest.add(each);
      } else if (type !== 'ping' && type !== 'message_stop' && type !== 'content_block_stop') {
        rest.addTo(String(type), event);
      } else rest.add(event);
    },
    body: () => {
      const content = [...blocks].map(([index, block]) => {
        const input = inputs.get(index);
        return input === undefined ? block : { ...block, input: inputOf(input) };
      });
      return { ...whole, content };
    },
  };
};

const completionStream = (rest: Rest): Stream => {
  const choices = new Map<unknown, Made>();
  let usage: unknown;
  return {
    add({ choices: those, usage: used, id: _, model: __, ...others }) {
      usage = used ?? usage;
      rest.add(used);
      rest.add(others);
      if (!Array.isArray(those)) rest.add(those);
      for (const { index, delta, ...choice } of listOf(those)) {
        const known = choices.get(index) ?? {};
        choices.set(index, known);
        extend(known, choice);
        if (isObject(delta)) extend(known, { message: delta });
        else if (delta != null) rest.addTo('delta', { delta });
      }
    },
    body: () => ({ choices: [...choices.values()], usage }),
  };
};

interface Pieces {
  readonly event: Json;
  text: string;
}

/** Events of a response. Text in pieces, in events and in the final response is read once if equal, otherwise in full. */
const responseStream = (rest: Rest): Stream => {
  const items = new Map<unknown, Json>();
  const pieces = new Map<string, Pieces>();
  const told = new Map<string, unknown>();
  let last: Json = {};
  const tell = (value: unknown): void => {
    if (value !== undefined) told.set(JSON.stringify(value), value);
  };
  const addPiece = (event: Json, delta: string): void => {
    const { type, item_id, output_index, content_index, summary_index } = event;
    const key = JSON.stringify([type, item_id, output_index, content_index, summary_index]);
    const known = pieces.get(key) ?? { event, text: '' };
    known.text += delta;
    pieces.set(key, known);
  };
  /** The text of pieces that is nowhere else. */
  const looseOf = ({ event, text }: Pieces): Json | null => {
    const kind = String(event.type);
    if (/text|refusal/.test(kind)) return { type: 'message', content: [{ type: 'output_text', text }] };
    if (!/arguments|input/.test(kind)) return null;
    return { type: 'custom_tool_call', name: items.get(event.output_index)?.name, input: text };
  };
  return {
    add(event) {
      const { delta, response, item, sequence_number: _, ...others } = event;
      if (isObject(response)) {
        const { id: __, model: ___, ...before } = last;
        tell(withoutRepeats(before));
        last = response;
      }
      if (isObject(item)) {
        tell(items.get(event.output_index));
        items.set(event.output_index, item);
      }
      if (typeof delta === 'string') addPiece(event, delta);
      else if (isObject(delta)) rest.addTo(String(event.type), delta);
      else if (delta !== undefined) tell(delta);
      tell(others);
    },
    body() {
      const output = listOf(last.output);
      const kept = output.length > 0 ? output : [...items.values()];
      const said = new Set(stringsIn(kept));
      for (const value of [...told.values(), ...(output.length > 0 ? items.values() : [])]) {
        if (![...stringsIn(value)].every((text) => said.has(text))) rest.add(value);
      }
      const loose: Json[] = [];
      for (const each of pieces.values()) {
        if (said.has(each.text)) continue;
        const item = looseOf(each);
        if (item === null) rest.add(each.text);
        else loose.push(item);
      }
      return { ...last, output: [...kept, ...loose] };
    },
  };
};

function* stringsIn(value: unknown): Generator<string> {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') yield next;
    else if (typeof next === 'object' && next !== null) open.push(...Object.values(next));
  }
}

const streams = { messages: messageStream, 'chat.completions': completionStream, responses: responseStream };

interface Frame {
  readonly document: string;
  /** Parsed, if it is JSON. */
  readonly event: unknown;
  /** All but the data. */
  readonly lines: readonly string[];
}

const frameOf = (frame: string): Frame => {
  const data: string[] = [];
  const lines: string[] = [];
  for (const line of frame.split('\n')) {
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
    else if (line !== '') lines.push(line);
  }
  const document = data.join('\n');
  return { document, event: document === '' ? null : jsonOf(document), lines };
};

/** An answer that is assembled from whole events. */
export interface StreamedText {
  add(events: string): void;
  /** @throws the error of reading an event: what cannot be read cannot be judged */
  text(): ResponseText;
}

export const streamedText = (endpoint: TextApi): StreamedText => {
  const rest = new Rest();
  const stream = streams[endpoint](rest);
  let failure: { readonly error: unknown } | null = null;

  const read = ({ event, document, lines }: Frame, isPlain: boolean): void => {
    if (isObject(event)) {
      stream.add(event);
      if (!isPlain) for (const hidden of hiddenIn(document)) rest.add(hidden);
    } else if (document.trim() !== '[DONE]') rest.add(document);
    const name = isObject(event) ? `event: ${String(event.type)}` : null;
    for (const line of lines) if (line !== name) rest.add(line);
  };

  return {
    add(events) {
      if (failure !== null) return;
      try {
        const frames = events
          .split('\n\n')
          .filter((frame) => frame !== '')
          .map(frameOf);
        const objects = frames.filter(({ event }) => isObject(event));
        // One scan, because one for each of many small events takes most of the time.
        const isPlain = hiddenIn(`[${objects.map(({ document }) => document).join()}]`).length === 0;
        for (const frame of frames) read(frame, isPlain);
      } catch (error) {
        failure = { error };
      }
    },
    text() {
      if (failure !== null) throw failure.error;
      return answerOf(endpoint, stream.body(), rest.all());
    },
  };
};
