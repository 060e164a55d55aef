import { isUtf8 } from 'node:buffer';
import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { edited } from '../../../json/edits.ts';
import type { Usage } from '../../../tokens.ts';
import { jsonBytes, textBytes } from '../estimate.ts';
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
  return { ...parsedMessage(document, message, own, answerUsage), outputBytes: writtenBytes(message.content) };
};

const writtenBytes = (content: unknown): number =>
  (Array.isArray(content) ? content : []).reduce<number>((sum, block) => {
    const { text, thinking, input } = within(block);
    return sum + textBytes(text) + textBytes(thinking) + (input === undefined ? 0 : jsonBytes(input));
  }, 0);

export const quickStart = (document: Buffer, own: OwnNames): OwnDocument | null => {
  if (!tape.scan(document) || tape.kind(0) !== Kind.object) return null;
  const message = tape.member(0, messageName);
  return message === -1 || tape.kind(message) !== Kind.object
    ? null
    : scannedMessage(document, message, own, wholeUsage);
};

export const parsedStart = (document: Buffer, event: Fields, own: OwnNames): OwnDocument => {
  const message = fieldsOf(event.message, 'message');
  return parsedMessage(document, message, own, wholeUsage, messageName);
};

/** Parses only the usage; null if the message is not in the usual form. */
const scannedMessage = (document: Buffer, message: number, own: OwnNames, usageOf: UsageOf): OwnDocument | null => {
  const usage = tape.member(message, usageName);
  const edits = scannedNames(tape, message, own);
  if (usage === -1 || edits === null) return null;
  return { document: edited(document, edits), usage: usageOf(tape.value(usage)), outputBytes: 0 };
};

const parsedMessage = (
  document: Buffer,
  message: Fields,
  own: OwnNames,
  usageOf: UsageOf,
  member?: Buffer,
): OwnDocument => {
  const edits = parsedNames(document, own, member);
  if (edits.length < 2) throw malformed('the message has no id or no model');
  return { document: edited(document, edits), usage: usageOf(message.usage), outputBytes: 0 };
};
