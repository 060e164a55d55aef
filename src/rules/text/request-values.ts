import { type MessageRecord, messageType, type RequestValues } from '../language/variables.ts';
import type { RequestPieces } from './body-text.ts';
import { type Copy, lines, textOf } from './normal-text.ts';
import type { Beside } from './request-text.ts';

/** Unknown roles count as users. */
const others: ReadonlySet<string> = new Set(['assistant', 'system', 'developer', 'tool', 'function']);

/** The variables under `request` (contract H) in one copy, built when first read. A class, for speed. */
export class RequestFields implements RequestValues {
  readonly #request: Beside;
  readonly #pieces: () => RequestPieces;
  readonly #copy: Copy;
  #system: string | undefined;
  #text: string | undefined;
  #messages: readonly MessageRecord[] | undefined;
  #said: readonly (readonly string[])[] | undefined;
  #userText: string | undefined;
  #lastUserText: string | undefined;
  #toolNames: readonly string[] | undefined;
  #metadata: ReadonlyMap<string, string> | undefined;

  constructor(request: Beside, pieces: () => RequestPieces, copy: Copy) {
    this.#request = request;
    this.#pieces = pieces;
    this.#copy = copy;
  }

  get endpoint() {
    return this.#request.endpoint;
  }
  get model() {
    return this.#request.model;
  }
  get max_tokens() {
    return BigInt(this.#request.maxTokens);
  }
  get input_tokens() {
    return BigInt(this.#request.inputTokens);
  }
  get message_count() {
    return BigInt(this.#pieces().messages.length);
  }
  get tool_count() {
    return BigInt(this.#pieces().toolNames.length);
  }
  get stream() {
    return this.#request.stream;
  }
  get has_images() {
    return this.#pieces().images;
  }
  get has_documents() {
    return this.#pieces().documents;
  }
  get has_thinking() {
    return this.#pieces().thinking;
  }
  get system() {
    this.#system ??= textOf(this.#copy, this.#pieces().system);
    return this.#system;
  }
  get messages() {
    this.#messages ??= this.#pieces().messages.map((message): MessageRecord => {
      const copy = this.#copy;
      let whole: string | undefined;
      return new messageType.Record({
        role: message.role,
        get text() {
          whole ??= textOf(copy, message);
          return whole;
        },
      });
    });
    return this.#messages;
  }
  get text() {
    this.#text ??= this.#copy.isFolded
      ? foldedText(this.#copy, this.#pieces(), this.system)
      : plainText(this.#copy, this.#pieces());
    return this.#text;
  }
  get user_text() {
    this.#userText ??= this.#copy.written(this.#saidByUsers().flat());
    return this.#userText;
  }
  // Unspecified: messages with tool results only are passed over.
  get last_user_text() {
    this.#lastUserText ??= this.#copy.written(this.#saidByUsers().at(-1) ?? []);
    return this.#lastUserText;
  }
  get tool_names() {
    this.#toolNames ??= this.#pieces().toolNames.map((name) => this.#copy.one(name));
    return this.#toolNames;
  }
  get metadata() {
    const copy = this.#copy;
    this.#metadata ??= new Map(this.#pieces().metadata.map(([key, value]) => [copy.one(key), copy.one(value)]));
    return this.#metadata;
  }

  #saidByUsers(): readonly (readonly string[])[] {
    this.#said ??= this.#pieces()
      .messages.filter(({ role, said }) => !others.has(role) && said.length > 0)
      .map(({ text, said }) => said.map((at) => text[at]!));
    return this.#said;
  }
}

const addAll = (all: string[], pieces: readonly string[]): void => {
  for (const piece of pieces) all.push(piece);
};

const plainText = (copy: Copy, { system, messages, others }: RequestPieces): string => {
  const all = [...system.text, ...system.beside];
  for (const { text, beside } of messages) {
    addAll(all, text);
    addAll(all, beside);
  }
  addAll(all, others);
  return copy.apart(all);
};

/** Joins messages, too, because a word may be split across two. */
const foldedText = (copy: Copy, { messages, others }: RequestPieces, system: string): string => {
  const written: string[] = [];
  const besides: string[] = [];
  for (const { text, beside } of messages) {
    addAll(written, text);
    addAll(besides, beside);
  }
  const said = lines(copy.written(written), copy.apart(besides));
  return lines(lines(system, said), copy.apart(others));
};
