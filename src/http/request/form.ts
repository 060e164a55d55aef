import { Refused } from '../refused.ts';
import { parsePairs } from './query.ts';

/**
 * `application/x-www-form-urlencoded`. Empty fields are dropped (RFC 6749, 3.2); a repeated one is an array, which no
 * schema accepts. Returns 400 invalid_request for invalid percent-encoding, raw non-ASCII bytes, or over 100 fields.
 */
export const parseForm = (bytes: Buffer): Readonly<Record<string, unknown>> | Refused => {
  const fields = parsePairs(bytes.toString('latin1'), 'body');
  if (fields instanceof Refused) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
};
