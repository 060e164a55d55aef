import { isAscii, isUtf8 } from 'node:buffer';
import { parseExactly } from '../../json/exact-number.ts';
import { type Refused, refused } from '../refused.ts';
import { maxValues, scanJson, type ValueBudget } from './json-scan.ts';

export type { ValueBudget };

/** Of one request, which may hold more than one document. */
export const valueBudget = (): ValueBudget => ({ left: maxValues });

const invalid = (message: string): Refused => refused('invalid_json', { message });

/**
 * Reads a body as a JSON object under stricter rules than JSON.parse: sound UTF-8 without a byte order mark, at most 64
 * levels and 2,000,000 values, no member twice, no lone surrogate, no number beyond a double (contract
 * A.3). Numbers below its own members keep their digits.
 * @param budget of values, from which those of this document are taken
 * @returns 400 request_too_complex for more than 64 levels or 2,000,000 values, 400 invalid_json for the rest
 */
export const parseJson = (bytes: Buffer, budget = valueBudget()): Readonly<Record<string, unknown>> | Refused => {
  const fault = scanJson(bytes, budget);
  if (typeof fault === 'object') return refused(fault.code, fault);
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) return invalid('The request body is not valid UTF-8.');
  try {
    // The scan has seen that the first character opens an object.
    const text = bytes.toString(ascii ? 'latin1' : 'utf8');
    return (fault === 'inexact' ? parseExactly(text) : JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return invalid('The request body is not valid JSON.');
  }
};
