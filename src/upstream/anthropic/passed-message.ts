import { isUtf8 } from 'node:buffer';
import { edited, outerMembers } from '../../json/outer-members.ts';
import { Kind, lentTape as tape } from '../../json/tape/tape.ts';
import { jsonBytes, textBytes } from '../estimate.ts';
import type { Usage } from '../port.ts';
import { type Fields, fieldsOf, parsedJson, within } from '../transport/fields.ts';
import { type OwnDocument, type OwnNames, parsedNames, scannedNames } from '../transport/own-names.ts';
import { malformed } from '../transport/upstream-errors.ts';
import { wholeUsage, withBesides } from './passed-usage.ts';

const [messageName, typeName, usageName] = ['message', 'type', 'usage'].map((name) => Buffer.from(name)) as [
  Buffer,
  Buffer,
  Buffer,
];

type UsageOf = (told: unknown) => Usage;
const answerUsage: UsageOf = (told) => withBesides(wholeUsage(told), told);

/** @throws UpstreamError for what is no message */
export const ownAnswer = (document: Buffer, own: OwnNames): OwnDocument => {
  if (tape.scan(document)) {
    const type = tape.kind(0) === Kind.object ? tape.member(0, typeName) : -1;
    const isMessage = type !== -1 && tape.kind(type) === Kind.string && tape.spells(type, messageName);
    const quick = isMessage ? scannedMessage(document, 0, own, answerUsage) : null;
    if (quick !== null && quick.usage.output_tokens > 0) return quick;
  }
  if (!isUtf8(document)) throw malformed('the answer is not UTF-8');
  const message = fieldsOf(parsedJson(document.toString('utf8'), 'the answer'), 'the answer');
  if (message.type !== 'message') throw malformed('the answer is not a message');
  return { ...parsedMessage(document, 0, message, own, answerUsage), outputBytes: writtenBytes(message.content) };
};

/** UTF-8 bytes of the text, thinking and tool input of blocks; what a server's own tools have found is not the model's. */
const writtenBytes = (content: unknown): number =>
  (Array.isArray(content) ? content : []).reduce<number>((sum, block) => {
    const { text, thinking, input } = within(block);
    return sum + textBytes(text) + textBytes(thinking) + (input === undefined ? 0 : jsonBytes(input));
  }, 0);

/** The data of the event that begins a message, written as upstreams write it; null for any other. */
export const quickStart = (document: Buffer, own: OwnNames): OwnDocument | null => {
  if (!tape.scan(document) || tape.kind(0) !== Kind.object) return null;
  const message = tape.member(0, messageName);
  return message === -1 || tape.kind(message) !== Kind.object
    ? null
    : scannedMessage(document, message, own, wholeUsage);
};

/**
 * The data of the event that begins a message, by what it has been parsed to.
 * @throws UpstreamError for what is none
 */
export const parsedStart = (document: Buffer, event: Fields, own: OwnNames): OwnDocument => {
  const message = fieldsOf(event.message, 'message');
  return parsedMessage(document, outerMembers(document).get('message')!.valueStart, message, own, wholeUsage);
};

/** Of a message on the tape only the usage is parsed; null where something is not as usual. */
const scannedMessage = (document: Buffer, message: number, own: OwnNames, usageOf: UsageOf): OwnDocument | null => {
  const usage = tape.member(message, usageName);
  const edits = scannedNames(tape, message, own);
  if (usage === -1 || edits === null) return null;
  return { document: edited(document, edits), usage: usageOf(tape.value(usage)), outputBytes: 0 };
};

/** @param start where the message is in the document */
const parsedMessage = (
  document: Buffer,
  start: number,
  message: Fields,
  own: OwnNames,
  usageOf: UsageOf,
): OwnDocument => {
  const edits = parsedNames(document, start, own);
  if (edits.length < 2) throw malformed('the message has no id or no model');
  return { document: edited(document, edits), usage: usageOf(message.usage), outputBytes: 0 };
};
