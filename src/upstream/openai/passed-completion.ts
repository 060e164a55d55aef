import { isUtf8 } from 'node:buffer';
import { edited } from '../../json/outer-members.ts';
import { Kind, Tape } from '../../json/tape/tape.ts';
import { noUsage } from '../port.ts';
import { fieldsOf, parsedJson, within } from '../transport/fields.ts';
import {
  mostPassedTokens,
  type OwnDocument,
  type OwnNames,
  parsedNames,
  scannedNames,
} from '../transport/own-names.ts';
import { malformed } from '../transport/upstream-errors.ts';
import { readUsage } from './chat-usage.ts';
import { chatLabels, writtenIn } from './written.ts';

/** Of the document in hand; it is read at once and to its end. */
const tape = new Tape();
const [choicesName, usageName] = ['choices', 'usage'].map((name) => Buffer.from(name)) as [Buffer, Buffer];

/** A whole chat completion with its own names (contract N1). @throws UpstreamError for what is none */
export const ownCompletion = (document: Buffer, own: OwnNames): OwnDocument =>
  scanned(document, own) ?? parsed(document, own);

/** Null where something is not as usual. */
const scanned = (document: Buffer, own: OwnNames): OwnDocument | null => {
  if (!tape.scan(document) || tape.kind(0) !== Kind.object) return null;
  const [choices, said] = [tape.member(0, choicesName), tape.member(0, usageName)];
  if (choices === -1 || tape.kind(choices) !== Kind.array || said === -1) return null;
  const usage = readUsage(tape.value(said), mostPassedTokens);
  // Who has counted no output has to be looked after.
  if (usage === null || usage.output_tokens === 0) return null;
  const edits = scannedNames(tape, 0, own);
  return edits && { document: edited(document, edits), usage, outputBytes: 0 };
};

const parsed = (document: Buffer, own: OwnNames): OwnDocument => {
  if (!isUtf8(document)) throw malformed('the answer is not UTF-8');
  const completion = fieldsOf(parsedJson(document.toString('utf8'), 'the answer'), 'the answer');
  if (!Array.isArray(completion.choices)) throw malformed('the answer has no choices');
  return {
    document: edited(document, parsedNames(document, 0, own)),
    usage: readUsage(completion.usage, mostPassedTokens) ?? noUsage,
    outputBytes: completion.choices.reduce((sum, choice) => sum + writtenIn(within(choice).message, chatLabels), 0),
  };
};
