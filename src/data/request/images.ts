import type { Metered } from '../../http/route.ts';
import { type Document, Kind } from '../../json/document.ts';
import type { Model } from '../upstream/models/models.ts';
import type { GenerateRequest } from '../upstream/port.ts';
import { isPricedIn } from './priced.ts';

type Api = Metered['api'];

const kinds = ['image', 'image_url', 'input_image', 'computer_screenshot'];
/** Some servers recognise an image by it without a type. */
const link = 'image_url';
/** Their `input` is data, whatever it says. */
const calls = ['tool_use', 'server_tool_use'];
const input = 'input';
const type = 'type';
/** Searched for images at any depth. */
const conversation: Readonly<Record<Api, readonly string[]>> = {
  messages: ['messages', 'system'],
  'chat.completions': ['messages'],
  responses: [input],
};

/** Otherwise nothing is counted. */
const isPriced = (model: Model): boolean => isPricedIn(model, ({ image }) => Number(image) > 0);

export const pricedImages = (
  model: Model,
  api: Api,
  request: Readonly<Record<string, unknown>> | Pick<GenerateRequest, 'messages' | 'system'>,
): number => {
  if (!isPriced(model)) return 0;
  const fields = request as Readonly<Record<string, unknown>>;
  return conversation[api].reduce((sum, name) => sum + imagesIn(fields[name]), 0);
};

const imagesIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + imagesIn(each), 0);
  const { type: tag, [link]: linked } = value as { readonly type?: unknown; readonly [link]?: unknown };
  if (kinds.includes(tag as string) || (tag == null && linked != null)) return 1;
  const isCall = calls.includes(tag as string);
  let images = 0;
  for (const [name, member] of Object.entries(value)) if (!(isCall && name === input)) images += imagesIn(member);
  return images;
};

const bytesOf = (name: string): Buffer => Buffer.from(name);
const [kindBytes, callBytes] = [kinds, calls].map((names) => names.map(bytesOf)) as [Buffer[], Buffer[]];
const conversationBytes: Readonly<Record<Api, readonly Buffer[]>> = {
  messages: conversation.messages.map(bytesOf),
  'chat.completions': conversation['chat.completions'].map(bytesOf),
  responses: conversation.responses.map(bytesOf),
};
const [typeBytes, linkBytes, inputBytes] = [type, link, input].map(bytesOf) as [Buffer, Buffer, Buffer];

export const pricedImagesOnTape = (model: Model, api: Api, tape: Document): number => {
  if (!isPriced(model)) return 0;
  return conversationBytes[api].reduce((sum, name) => sum + imagesAt(tape, tape.member(0, name)), 0);
};

const imagesAt = (tape: Document, entry: number): number => {
  if (entry === -1 || tape.kind(entry) > Kind.array) return 0;
  const end = tape.next(entry);
  let images = 0;
  if (tape.kind(entry) === Kind.array) {
    for (let at = entry + 1; at < end; at = tape.next(at)) images += imagesAt(tape, at);
    return images;
  }
  const tag = tape.member(entry, typeBytes);
  const isTagged = tag !== -1 && tape.kind(tag) === Kind.string;
  if (isTagged && tape.isEscaped(tag)) return Number.NaN;
  if (isTagged && kindBytes.some((name) => tape.spells(tag, name))) return 1;
  if (tag === -1 || tape.kind(tag) === Kind.null) {
    const linked = tape.member(entry, linkBytes);
    if (linked !== -1 && tape.kind(linked) !== Kind.null) return 1;
  }
  const isCall = isTagged && callBytes.some((name) => tape.spells(tag, name));
  for (let at = entry + 1; at < end; at = tape.next(at + 1)) {
    if (!(isCall && tape.spells(at, inputBytes))) images += imagesAt(tape, at + 1);
  }
  return images;
};
