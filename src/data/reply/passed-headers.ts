import { type Refusal, refusal } from '../../errors.ts';
import type { Head } from '../../http/route.ts';

const ascii = /^[\t\x20-\x7e]*$/;

/** Values that no header may have are refused here: failing to send them would look like a failure of the upstream. */
export const passedHeaders = (head: Head, names: readonly string[]): Readonly<Record<string, string>> | Refusal => {
  const headers: Record<string, string> = {};
  for (const name of names) {
    const value = head.header(name, true);
    if (value === undefined || value === '') continue;
    if (!ascii.test(value)) {
      return refusal('invalid_request', { message: `The header ${name} is not in ASCII.`, param: `header.${name}` });
    }
    headers[name] = value;
  }
  return headers;
};
