import { Refused } from '../refused.ts';
import { parsePairs } from './query.ts';

/**
 * Reads a body of `application/x-www-form-urlencoded`. A field without a value is as if it were not there (RFC 6749, 3.2);
 * one sent twice is an array, which no schema of a form takes.
 * @returns 400 invalid_request for unsound percent-encoding, raw bytes outside ASCII, or more than 100 fields
 */
export const parseForm = (bytes: Buffer): Readonly<Record<string, unknown>> | Refused => {
  const fields = parsePairs(bytes.toString('latin1'), 'body');
  if (fields instanceof Refused) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
};
