import { isUtf8 } from 'node:buffer';
import type { Usage } from '../../../tokens.ts';
import { AnswerUnwanted, type GenerateOptions } from '../port.ts';
import { type Endpoint, type Outgoing, streamType } from './endpoint.ts';
import { EventFrames } from './event-frames.ts';
import { maxAnswerBytes, maxEventBytes, maxStreamBytes } from './limits.ts';
import { malformed, tooLarge, transportError } from './upstream-errors.ts';
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
  const body = new WholeBody(options.hold);
  try {
    // Most answers have come in one piece with their head.
    while (!body.take(exchange)) await exchange.change();
    return read(body.bytes);
  } catch (error) {
    if (error instanceof AnswerUnwanted) throw error;
    if (options.signal.aborted) throw options.signal.reason;
    throw exchange.isTooLarge ? tooLarge(body.bytes.length) : transportError(error);
  } finally {
    exchange.close();
  }
};

export const textOf = (document: Buffer): string => {
  if (!isUtf8(document)) throw malformed('the answer is not UTF-8');
  return document.toString('utf8');
};

const brace = 0x7b;

/** What is said in place of a document: the end of the stream, or nothing, which is passed over. Null for a document. */
export const markIn = (data: Buffer): 'done' | 'nothing' | null => {
  if (data[0] === brace) return null;
  const text = data.toString('latin1').trim();
  if (text.startsWith('[DONE]')) return 'done';
  return text === '' || text === 'null' ? 'nothing' : null;
};

/** What has come, and the failure that ends it, if any. */
interface Read<T> {
  readonly pieces: readonly T[];
  readonly failure: unknown;
}

/** Reads one stream. Any function may throw UpstreamError. */
export interface StreamReader<T> {
  readonly ended: boolean;
  /** The usage so far; null if none is told. */
  readonly counted: Usage | null;
  readAll(events: Buffer): Read<T>;
  /** The body has ended. @throws UpstreamError if too early */
  finish(): readonly T[];
}

/** @param rest after the last whole event, which a finished answer does not need */
const readEnd = <T>(reader: StreamReader<T>, rest: Buffer): Read<T> => {
  const { pieces, failure } = reader.readAll(rest);
  if (reader.ended) return { pieces, failure };
  try {
    return { pieces: [...pieces, ...reader.finish()], failure: null };
  } catch (error) {
    return { pieces, failure: failure ?? error };
  }
};

export async function* streamedAnswer<T>(
  endpoint: Endpoint,
  outgoing: Outgoing,
  options: GenerateOptions,
  reader: StreamReader<T>,
): AsyncGenerator<T, void, undefined> {
  const exchange = await endpoint.post(outgoing, streamType, maxStreamBytes, options);
  const frames = new EventFrames(maxEventBytes);
  const count = () => reader.counted !== null && options.counted?.(reader.counted);
  try {
    while (!reader.ended) {
      const bytes = await exchange.read();
      const { pieces, failure } = bytes === null ? readEnd(reader, frames.rest()) : reader.readAll(frames.push(bytes));
      if (reader.ended) exchange.drain();
      if (pieces.length === 0 && failure === null) count();
      for (const piece of pieces) {
        options.signal.throwIfAborted();
        yield piece;
      }
      if (failure !== null) throw failure;
      if (frames.fault !== null && !reader.ended) throw frames.fault;
    }
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    // Reported usage counts even if the answer breaks off.
    if (!reader.ended) count();
    exchange.close();
  }
}
