import { isAscii, isUtf8 } from 'node:buffer';
import { parseExactly } from '../../json/exact-number.ts';
import { type Refused, refused } from '../refused.ts';
import { maxValues, scanJson, type ValueBudget } from './json-scan.ts';

export type { ValueBudget };

/** One for each request. */
export const valueBudget = (): ValueBudget => ({ left: maxValues });

const invalid = (message: string): Refused => refused('invalid_json', { message });

/**
 * Stricter than JSON.parse: UTF-8 without byte order mark, no repeated member, lone surrogate or number beyond a
 * double (contract A.3). Numbers below the top level keep their digits. @param budget reduced by this document's
 * values. Returns 400 request_too_complex above 64 levels or 2,000,000 values, else 400 invalid_json.
 */
export const parseJson = (bytes: Buffer, budget = valueBudget()): Readonly<Record<string, unknown>> | Refused => {
  const fault = scanJson(bytes, budget);
  if (typeof fault === 'object') return refused(fault.code, fault);
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) return invalid('The request body is not valid UTF-8.');
  try {
    // The scan has seen an opening brace.
    const text = bytes.toString(ascii ? 'latin1' : 'utf8');
    return (fault === 'inexact' ? parseExactly(text) : JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return invalid('The request body is not valid JSON.');
  }
};
