import { isUtf8 } from 'node:buffer';
import { Kind, lentDocument as tape } from '../../../json/document.ts';
import type { Edit } from '../../../json/edits.ts';
import { nameSet } from '../../../json/names.ts';
import type { Fields } from './fields.ts';
import { malformed } from './upstream-errors.ts';

/** What an upstream tells in a document that passes: on the tape, valid until the next scan. */

/** Bounds reported counts: above any real request, below the precision of sums. */
export const mostPassedTokens = 1_000_000_000;

/** @throws UpstreamError unless it is a JSON object. @param what for the log */
export const scanned = (document: Buffer, what: string): void => {
  if (!tape.scanAny(document)) throw malformed(`${what} is not ${isUtf8(document) ? 'JSON' : 'UTF-8'}`);
  if (tape.kind(0) !== Kind.object) throw malformed(`${what} is not an object`);
};

const names = new Map<string, Buffer>();

const bytesOf = (name: string): Buffer => {
  const bytes = names.get(name) ?? Buffer.from(name);
  names.set(name, bytes);
  return bytes;
};

/** -1 if absent, or if the entry is no object. */
export const memberOf = (entry: number, name: string): number => tape.member(entry, bytesOf(name));

/** Undefined if absent. */
export const toldIn = (entry: number): unknown => {
  if (entry === -1) return undefined;
  return tape.kind(entry) === Kind.null ? null : tape.value(entry);
};

export const spells = (entry: number, text: string): boolean => tape.says(entry, bytesOf(text));

/** These members alone: others may be large. */
export const picked = (entry: number, ...wanted: readonly string[]): Fields => {
  const fields: Record<string, unknown> = {};
  for (const name of wanted) fields[name] = toldIn(memberOf(entry, name));
  return fields;
};

export interface OwnNames {
  readonly id: string;
  readonly model: string;
}

const isId = nameSet(['id']);
const isModel = nameSet(['model']);

/** Puts our own id and model in place of those that an object has, however often. */
export const ownNames = (entry: number, own: OwnNames): Edit[] => {
  const edits: Edit[] = [];
  if (entry === -1 || tape.kind(entry) !== Kind.object) return edits;
  for (let at = entry + 1; at < tape.next(entry); at = tape.next(at + 1)) {
    if (isId(tape, at)) edits.push(tape.replaced(at + 1, JSON.stringify(own.id)));
    else if (isModel(tape, at)) edits.push(tape.replaced(at + 1, JSON.stringify(own.model)));
  }
  return edits;
};

/** The texts in a part of a document: what the model has written. */
export interface Texts {
  bytes: number;
  count: number;
  /** The entry of the last. */
  last: number;
}

const chat = ['role', 'id', 'type'];
const responses = [...chat, 'status', 'call_id', 'annotations', 'logprobs', 'encrypted_content'];

/** Members that the model does not write, by API. */
const labels = {
  chat: nameSet(chat),
  responses: nameSet(responses),
  any: nameSet([...responses, 'finish_reason', 'citations', 'signature']),
};

export const addTexts = (texts: Texts, entry: number, api: keyof typeof labels): void => {
  const isLabel = labels[api];
  const end = entry === -1 ? -1 : tape.next(entry);
  for (let at = entry; at < end; at++) {
    const kind = tape.kind(at);
    if (kind === Kind.name && isLabel(tape, at)) at = tape.next(at + 1) - 1;
    else if (kind === Kind.string) {
      texts.bytes += tape.textBytes(at);
      texts.count += 1;
      texts.last = at;
    }
  }
};

export const noTexts = (): Texts => ({ bytes: 0, count: 0, last: -1 });

/** Bytes of the text of a whole answer of any API. */
export const writtenBytesIn = (answer: Buffer): number => {
  scanned(answer, 'the answer');
  const texts = noTexts();
  for (const name of ['content', 'choices', 'output']) addTexts(texts, memberOf(0, name), 'any');
  return texts.bytes;
};
