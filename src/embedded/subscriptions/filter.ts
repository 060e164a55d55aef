import type { FilterRequest } from '../codec/read-request.ts';
import { INVALID_ARGUMENT, RpcError } from '../grpc/status.ts';
import { type Filter, nameEnd, nameStart, typeEnd, typeStart } from '../store/records/record.ts';
import { fromDotnet } from './dotnet-regex.ts';

/** Compiles a filter. Throws RpcError INVALID_ARGUMENT for one that this server cannot evaluate. */
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

/** The real server's expressions are .NET's; what cannot be said in JavaScript is refused, not guessed at. */
function compileRegex(source: string, maxChars: number): RegExp {
  if (source.length > maxChars) {
    throw new RpcError(INVALID_ARGUMENT, `A filter expression may have ${maxChars} characters.`);
  }
  try {
    return fromDotnet(source);
  } catch {
    throw new RpcError(INVALID_ARGUMENT, `The filter expression ${source} is not one that this server supports.`);
  }
}
