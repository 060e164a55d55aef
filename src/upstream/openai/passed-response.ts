import { isUtf8 } from 'node:buffer';
import { edited } from '../../json/outer-members.ts';
import { Kind, Tape } from '../../json/tape/tape.ts';
import { noUsage } from '../port.ts';
import { fieldsOf, parsedJson } from '../transport/fields.ts';
import {
  mostPassedTokens,
  type OwnDocument,
  type OwnNames,
  parsedNames,
  scannedNames,
} from '../transport/own-names.ts';
import { type Hide, malformed } from '../transport/upstream-errors.ts';
import { readResponseUsage } from './response-usage.ts';
import { itemLabels, writtenIn } from './written.ts';

/** Of the document in hand; it is read at once and to its end. */
const tape = new Tape();
const [outputName, usageName] = ['output', 'usage'].map((name) => Buffer.from(name)) as [Buffer, Buffer];

/** A whole response with its own names (contract N1). @throws UpstreamError for what is none */
export const ownResponse = (document: Buffer, own: OwnNames, hide: Hide): OwnDocument => {
  // What went wrong there is told in the upstream's own words.
  const told = document.includes('"failed"') ? Buffer.from(hide(document.toString('utf8'))) : document;
  return scanned(told, own) ?? parsed(told, own);
};

/** Null where something is not as usual. */
const scanned = (document: Buffer, own: OwnNames): OwnDocument | null => {
  if (!tape.scan(document) || tape.kind(0) !== Kind.object) return null;
  const [output, said] = [tape.member(0, outputName), tape.member(0, usageName)];
  if (output === -1 || tape.kind(output) !== Kind.array || said === -1) return null;
  const usage = readResponseUsage(tape.value(said), mostPassedTokens);
  // Who has counted no output has to be looked after.
  if (usage === null || usage.output_tokens === 0) return null;
  const edits = scannedNames(tape, 0, own);
  return edits && { document: edited(document, edits), usage, outputBytes: 0 };
};

const parsed = (document: Buffer, own: OwnNames): OwnDocument => {
  if (!isUtf8(document)) throw malformed('the answer is not UTF-8');
  const response = fieldsOf(parsedJson(document.toString('utf8'), 'the answer'), 'the answer');
  if (!Array.isArray(response.output)) throw malformed('the answer has no output');
  return {
    document: edited(document, parsedNames(document, 0, own)),
    usage: readResponseUsage(response.usage, mostPassedTokens) ?? noUsage,
    outputBytes: writtenIn(response.output, itemLabels),
  };
};
