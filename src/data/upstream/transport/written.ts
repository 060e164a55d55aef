import type { CountRequest, GenerateRequest, WrittenRequest } from '../port.ts';

type Request = GenerateRequest | CountRequest | WrittenRequest;

export const isWritten = (request: Request): request is WrittenRequest => 'written' in request;

/** Null if the upstream must write the body itself. */
export const bodyIn = (request: Request): Buffer | null => {
  if (!isWritten(request)) return null;
  const [written] = request.written;
  if (written == null || !('body' in written)) throw new Error('The request was written for another upstream.');
  const { buffer, byteOffset, byteLength } = written.body;
  return Buffer.from(buffer, byteOffset, byteLength);
};
