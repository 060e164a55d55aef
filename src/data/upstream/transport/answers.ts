import { isUtf8 } from 'node:buffer';
import type { Usage } from '../../../tokens.ts';
import { AnswerUnwanted, type GenerateOptions } from '../port.ts';
import type { Endpoint, Outgoing } from './endpoint.ts';
import { EventFrames } from './event-frames.ts';
import { maxAnswerBytes, maxEventBytes, maxStreamBytes } from './limits.ts';
import { malformed, transportError } from './upstream-errors.ts';
import { WholeBody } from './whole-body.ts';

/** Each function rejects with the signal's reason or an UpstreamError. */

export const wholeAnswer = async <T>(
  endpoint: Endpoint,
  outgoing: Outgoing,
  options: GenerateOptions,
  read: (document: Buffer) => T,
  maxBytes: number = maxAnswerBytes,
): Promise<T> => {
  const exchange = await endpoint.post(outgoing, 'application/json', maxBytes, options);
  try {
    const body = new WholeBody(options.hold);
    // Most answers have come in one piece with their head.
    while (!body.take(exchange)) await exchange.change();
    return read(body.bytes);
  } catch (error) {
    if (error instanceof AnswerUnwanted) throw error;
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    exchange.close();
  }
};

export const textOf = (document: Buffer): string => {
  if (!isUtf8(document)) throw malformed('the answer is not UTF-8');
  return document.toString('utf8');
};

const brace = 0x7b;

/** Whether it is no document, but the mark that ends a stream. */
export const isDone = (document: Buffer): boolean =>
  document[0] !== brace && document.toString('latin1').trim() === '[DONE]';

/** Reads one stream. Any function may throw UpstreamError. */
export interface StreamReader<T> {
  readonly ended: boolean;
  /** The usage so far; null if none is told. */
  readonly counted: Usage | null;
  /** What has come, and the failure that ends it, if any. */
  readAll(events: Buffer): { readonly pieces: readonly T[]; readonly failure: unknown };
  /** The body has ended. @throws UpstreamError if too early */
  finish(): readonly T[];
}

export async function* streamedAnswer<T>(
  endpoint: Endpoint,
  outgoing: Outgoing,
  options: GenerateOptions,
  reader: StreamReader<T>,
): AsyncGenerator<T, void, undefined> {
  const exchange = await endpoint.post(outgoing, 'text/event-stream', maxStreamBytes, options);
  const frames = new EventFrames(maxEventBytes);
  const count = () => reader.counted !== null && options.counted?.(reader.counted);
  try {
    while (!reader.ended) {
      const bytes = await exchange.read();
      const { pieces, failure } =
        bytes === null ? { pieces: reader.finish(), failure: null } : reader.readAll(frames.push(bytes));
      if (reader.ended) exchange.drain();
      if (pieces.length === 0) count();
      for (const piece of pieces) {
        options.signal.throwIfAborted();
        yield piece;
      }
      if (failure !== null) throw failure;
    }
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    // Reported usage counts even if the answer breaks off.
    if (!reader.ended) count();
    exchange.close();
  }
}
