export const OK = 0;
export const UNKNOWN = 2;
export const INVALID_ARGUMENT = 3;
export const DEADLINE_EXCEEDED = 4;
export const NOT_FOUND = 5;
export const PERMISSION_DENIED = 7;
export const RESOURCE_EXHAUSTED = 8;
export const FAILED_PRECONDITION = 9;
export const UNIMPLEMENTED = 12;
export const INTERNAL = 13;
export const UNAVAILABLE = 14;
export const UNAUTHENTICATED = 16;

export class RpcError extends Error {
  readonly code: number;
  readonly trailers: Readonly<Record<string, string>>;

  constructor(code: number, message: string, trailers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.trailers = trailers;
  }
}

/** Encodes `grpc-message`: all but printable ASCII, and the percent sign. */
export function percentEncode(message: string): string {
  let out = '';
  for (const byte of Buffer.from(message)) {
    out +=
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 0x20 || text.charCodeAt(i) > 0x7e) return false;
  return true;
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Parses `grpc-timeout` (`9S`, `1500m`) to milliseconds; NaN when malformed. */
export function timeoutMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const parts = /^(\d{1,8})([HMSmun])$/.exec(header);
  return parts ? Number(parts[1]) * unitMs[parts[2]!]! : Number.NaN;
}
