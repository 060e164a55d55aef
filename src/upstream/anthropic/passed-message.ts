import { isUtf8 } from 'node:buffer';
import { type Edit, edited, outerMembers } from '../../json/outer-members.ts';
import { Kind, Tape } from '../../json/tape/tape.ts';
import type { Usage } from '../port.ts';
import { type Fields, fieldsOf, parsedJson } from '../transport/fields.ts';
import { malformed } from '../transport/upstream-errors.ts';
import { readUsage } from './anthropic-blocks.ts';

/** No count of a passing upstream is believed beyond it: far above what any request takes, far below what sums lose. */
export const mostPassedTokens = 1_000_000_000;

/** What an upstream's message is to have instead of its own. */
export interface OwnNames {
  readonly id: string;
  readonly model: string;
}

/** An upstream's message on its way: every byte is as it was but those of its id and model. */
export interface OwnMessage {
  /** The document that it came in. */
  readonly document: Buffer;
  readonly usage: Usage;
}

/** Of the document in hand; it is read at once and to its end. */
const tape = new Tape();
const [messageName, typeName, idName, modelName, usageName] = ['message', 'type', 'id', 'model', 'usage'].map((name) =>
  Buffer.from(name),
) as [Buffer, Buffer, Buffer, Buffer, Buffer];

/** @throws UpstreamError for what is no message */
export const ownAnswer = (document: Buffer, own: OwnNames): OwnMessage => {
  if (tape.scan(document)) {
    const type = tape.kind(0) === Kind.object ? tape.member(0, typeName) : -1;
    const isMessage = type !== -1 && tape.kind(type) === Kind.string && tape.spells(type, messageName);
    const quick = isMessage ? scannedMessage(document, 0, own) : null;
    if (quick !== null) return quick;
  }
  if (!isUtf8(document)) throw malformed('the answer is not UTF-8');
  const message = fieldsOf(parsedJson(document.toString('utf8'), 'the answer'), 'the answer');
  if (message.type !== 'message') throw malformed('the answer is not a message');
  return parsedMessage(document, 0, message, own);
};

/** The data of the event that begins a message, written as upstreams write it; null for any other. */
export const quickStart = (document: Buffer, own: OwnNames): OwnMessage | null => {
  if (!tape.scan(document) || tape.kind(0) !== Kind.object) return null;
  const message = tape.member(0, messageName);
  return message === -1 || tape.kind(message) !== Kind.object ? null : scannedMessage(document, message, own);
};

/**
 * The data of the event that begins a message, by what it has been parsed to.
 * @throws UpstreamError for what is none
 */
export const parsedStart = (document: Buffer, event: Fields, own: OwnNames): OwnMessage => {
  const message = fieldsOf(event.message, 'message');
  return parsedMessage(document, outerMembers(document).get('message')!.valueStart, message, own);
};

/** Of a message on the tape only the usage is parsed; null where something is not as usual. */
const scannedMessage = (document: Buffer, message: number, { id, model }: OwnNames): OwnMessage | null => {
  const usage = tape.member(message, usageName);
  const edits = [scannedEdit(message, idName, id), scannedEdit(message, modelName, model)];
  if (usage === -1 || edits.includes(null)) return null;
  return {
    document: edited(document, inOrder(edits as Edit[])),
    usage: readUsage(tape.value(usage), mostPassedTokens),
  };
};

const scannedEdit = (message: number, name: Buffer, value: string): Edit | null => {
  const entry = tape.member(message, name);
  if (entry === -1 || tape.kind(entry) !== Kind.string) return null;
  return { start: tape.start(entry) - 1, end: tape.end(entry) + 1, text: JSON.stringify(value) };
};

/** @param start where the message is in the document */
const parsedMessage = (document: Buffer, start: number, message: Fields, own: OwnNames): OwnMessage => {
  const members = outerMembers(document.subarray(start));
  const edits: Edit[] = [];
  for (const name of ['id', 'model'] as const) {
    const member = members.get(name);
    if (member === undefined) throw malformed(`the message has no ${name}`);
    edits.push({ start: start + member.valueStart, end: start + member.end, text: JSON.stringify(own[name]) });
  }
  return { document: edited(document, inOrder(edits)), usage: readUsage(message.usage, mostPassedTokens) };
};

const inOrder = (edits: Edit[]): Edit[] => edits.sort((one, other) => one.start - other.start);
