/** The revision that a stream must have. Numbers from 2^53 on are bigints, so that a refusal can quote them. */
export type Expected = 'any' | 'no_stream' | 'stream_exists' | number | bigint;

/** As in the trailers of a refusal. */
export function expectedNumber(expected: Expected): string {
  if (expected === 'any') return '-2';
  if (expected === 'no_stream') return '-1';
  if (expected === 'stream_exists') return '-4';
  return String(expected);
}
