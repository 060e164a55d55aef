import { type Fault, lentDocument, maxValues, type ValueBudget } from '../../json/document.ts';
import { type Refused, refused } from '../refused.ts';

export type { ValueBudget };

/** One for each request. */
export const valueBudget = (): ValueBudget => ({ left: maxValues });

const messages: Readonly<Record<Fault, string>> = {
  not_object: 'is not a JSON object',
  not_utf8: 'is not valid UTF-8',
  not_json: 'is not valid JSON',
  too_deep: 'is nested deeper than 64 levels',
  too_many: `has more than ${maxValues} values`,
  lone_surrogate: 'has a lone surrogate',
  huge_number: 'has a number that is too large',
  repeated_name: 'names a member twice',
};

/**
 * Stricter than JSON.parse: UTF-8 without byte order mark, no repeated member, lone surrogate or number of the
 * outermost object beyond a double (contract A.3). Those below keep their digits. The lent document stays that of these bytes.
 * @param budget reduced by this document's values. Returns 400 request_too_complex above 64 levels or 2,000,000 values,
 * else 400 invalid_json.
 */
export const parseJson = (bytes: Buffer, budget = valueBudget()): Readonly<Record<string, unknown>> | Refused => {
  const fault = lentDocument.fault(bytes, budget);
  return fault === null ? (lentDocument.exactValue() as Record<string, unknown>) : refusedFault(fault);
};

export const refusedFault = (fault: Fault): Refused => {
  const code = fault === 'too_deep' || fault === 'too_many' ? 'request_too_complex' : 'invalid_json';
  return refused(code, { message: `The request body ${messages[fault]}.` });
};
