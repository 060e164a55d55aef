import { isUtf8 } from 'node:buffer';
import { edited } from '../../json/outer-members.ts';
import { fieldsOf, parsedJson } from '../transport/fields.ts';
import { mostPassedTokens, type OwnDocument, type OwnNames, parsedNames } from '../transport/own-names.ts';
import { malformed } from '../transport/upstream-errors.ts';
import { guessedUsage } from './chat-usage.ts';
import { readResponseUsage } from './response-usage.ts';

/** A whole response with its own names (contract N1). @throws UpstreamError for what is none */
export const ownResponse = (document: Buffer, own: OwnNames): OwnDocument => {
  if (!isUtf8(document)) throw malformed('the answer is not UTF-8');
  const response = fieldsOf(parsedJson(document.toString('utf8'), 'the answer'), 'the answer');
  if (!Array.isArray(response.output)) throw malformed('the answer has no output');
  const usage = readResponseUsage(response.usage, mostPassedTokens);
  return {
    document: edited(document, parsedNames(document, 0, own)),
    usage: usage ?? guessedUsage(Buffer.byteLength(JSON.stringify(response.output))),
  };
};
