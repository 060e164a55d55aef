import type { CountRequest, GenerateRequest, WrittenBody, WrittenRequest } from '../port.ts';

type Request = GenerateRequest | CountRequest | WrittenRequest;

export const isWritten = (request: Request): request is WrittenRequest => 'written' in request;

export const writtenIn = ({ written: [written] }: WrittenRequest): WrittenBody<Buffer> => {
  if (written == null || !('body' in written)) throw new Error('The request was written for another upstream.');
  const { buffer, byteOffset, byteLength } = written.body;
  return { ...written, body: Buffer.from(buffer, byteOffset, byteLength) };
};
