import { isUtf8 } from 'node:buffer';
import type { Usage } from '../../../tokens.ts';
import { AnswerUnwanted, type Chunk, type GenerateOptions, type PassedEvents } from '../port.ts';
import type { Endpoint, Outgoing } from './endpoint.ts';
import { EventFrames } from './event-frames.ts';
import { maxAnswerBytes, maxEventBytes, maxStreamBytes } from './limits.ts';
import { readWhole } from './read-whole.ts';
import { SseParser } from './sse.ts';
import { malformed, transportError } from './upstream-errors.ts';

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
    return read(await readWhole(exchange, options.hold));
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

/** Reads one stream. Any function may throw UpstreamError. */
export interface ChunkReader {
  readonly ended: boolean;
  readonly counted: Usage | null;
  read(data: string): readonly Chunk[];
  /** @throws UpstreamError if the body ended too early */
  finish(): readonly Chunk[];
}

export async function* streamedAnswer(
  endpoint: Endpoint,
  outgoing: Outgoing,
  options: GenerateOptions,
  reader: ChunkReader,
): AsyncGenerator<Chunk, void, undefined> {
  const exchange = await endpoint.post(outgoing, 'text/event-stream', maxStreamBytes, options);
  const parser = new SseParser(maxEventBytes);
  // The start waits for the next event: an upstream that sends 200 and fails at once gets an error status.
  let start: Chunk | null = null;
  try {
    while (!reader.ended) {
      const piece = await exchange.read();
      const events = piece === null ? [null] : parser.push(piece);
      for (const event of events) {
        options.signal.throwIfAborted();
        for (const chunk of event === null ? reader.finish() : reader.read(event.data)) {
          if (chunk.type === 'start') {
            start = chunk;
            options.counted?.(chunk.usage);
            continue;
          }
          if (start !== null) {
            yield start;
            start = null;
          }
          if (chunk.type === 'end') exchange.drain();
          yield chunk;
        }
      }
    }
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    // Reported usage counts even if the answer breaks off.
    if (!reader.ended && reader.counted !== null) options.counted?.(reader.counted);
    exchange.close();
  }
}

export interface PassedReader {
  readonly ended: boolean;
  readonly usage: Usage;
  readonly outputBytes: number;
  takeStart(): Buffer | null;
  /** The body has ended. @throws UpstreamError if too early */
  finish(): void;
  /** The bytes to pass on, and the failure that ends them, if any. */
  readAll(events: Buffer): { readonly events: Buffer; readonly failure: unknown };
}

export async function* passedAnswer(
  endpoint: Endpoint,
  outgoing: Outgoing,
  options: GenerateOptions,
  reader: PassedReader,
): AsyncGenerator<PassedEvents, void, undefined> {
  const exchange = await endpoint.post(outgoing, 'text/event-stream', maxStreamBytes, options);
  const frames = new EventFrames(maxEventBytes);
  try {
    while (!reader.ended) {
      const piece = await exchange.read();
      if (piece === null) {
        reader.finish();
        yield eventsOf(reader, noBytes);
        return;
      }
      const passed = reader.readAll(frames.push(piece));
      if (reader.ended) exchange.drain();
      if (passed.events.length > 0) yield eventsOf(reader, passed.events);
      else if (reader.outputBytes === 0) options.counted?.(reader.usage);
      if (passed.failure !== null) throw passed.failure;
    }
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    exchange.close();
  }
}

const noBytes = Buffer.alloc(0);

const eventsOf = (reader: PassedReader, events: Buffer): PassedEvents => ({
  start: reader.takeStart(),
  events,
  usage: reader.usage,
  outputBytes: reader.outputBytes,
  ended: reader.ended,
});
