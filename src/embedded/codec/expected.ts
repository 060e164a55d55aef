/**
 * The revision that a stream must have for an append or delete to be accepted. Numbers at or above 2^53 stay
 * bigints so that a refusal can quote them.
 */
export type Expected = 'any' | 'no_stream' | 'stream_exists' | number | bigint;

/** As the trailers of a refusal show it: -2 any, -1 no stream, -4 stream exists. */
export function expectedNumber(expected: Expected): string {
  if (expected === 'any') return '-2';
  if (expected === 'no_stream') return '-1';
  if (expected === 'stream_exists') return '-4';
  return String(expected);
}
