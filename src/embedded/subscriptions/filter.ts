import type { FilterRequest } from '../codec/read-request.ts';
import { INVALID_ARGUMENT, RpcError } from '../grpc/status.ts';
import { type Filter, nameEnd, nameStart, typeEnd, typeStart } from '../store/records/record.ts';

/** @throws RpcError INVALID_ARGUMENT for a filter that this server cannot evaluate */
export function compileFilter(request: FilterRequest, maxRegexChars: number): Filter {
  const from = request.on === 'stream' ? nameStart : typeStart;
  const to = request.on === 'stream' ? nameEnd : typeEnd;
  if (request.prefixes.length > 0) {
    const prefixes = request.prefixes.map((prefix) => Buffer.from(prefix));
    return (record) => {
      const start = from(record);
      const length = to(record) - start;
      return prefixes.some((prefix) => prefix.length <= length && startsWith(record, start, prefix));
    };
  }
  const regex = compileRegex(request.regex, maxRegexChars);
  return (record) => regex.test(record.toString('utf8', from(record), to(record)));
}

function startsWith(record: Buffer, start: number, prefix: Buffer): boolean {
  for (let i = 0; i < prefix.length; i++) if (record[start + i] !== prefix[i]) return false;
  return true;
}

/** Options that .NET accepts at the beginning of an expression. */
const OPTIONS = /^\(\?([ims]+)\)/;
const SYNTAX = /[\w^$\\.*+?()[\]{}|/]/;
const ANCHORS = new Map([
  ['\\A', '(?<![\\s\\S])'],
  ['\\z', '(?![\\s\\S])'],
]);

/** Converts a .NET expression. With the flag `u` JavaScript refuses what it would read differently. @throws SyntaxError */
export function expressionOf(source: string): RegExp {
  const [head = '', options = ''] = OPTIONS.exec(source) ?? [];
  const text = source
    .slice(head.length)
    .replace(/\\[\s\S]/gu, (pair) =>
      SYNTAX.test(pair[1]!) ? (ANCHORS.get(pair) ?? pair) : `\\u{${pair.codePointAt(1)!.toString(16)}}`,
    );
  return new RegExp(text, `u${options}`);
}

function compileRegex(source: string, maxChars: number): RegExp {
  if (source.length > maxChars) {
    throw new RpcError(INVALID_ARGUMENT, `A filter expression may have ${maxChars} characters.`);
  }
  try {
    return expressionOf(source);
  } catch {
    throw new RpcError(INVALID_ARGUMENT, `The filter expression ${source} is not one that this server supports.`);
  }
}
