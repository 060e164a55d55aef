import { isUtf8 } from 'node:buffer';
import { jsonText } from '../../exact-number.ts';
import type { ReachedAnthropic } from '../models/model-schema.ts';
import type { Answer, Chunk, GenerateOptions, GenerateRequest, Upstream } from '../port.ts';
import type { Exchange } from '../transport/exchange.ts';
import { maxAnswerBytes, maxEventBytes, maxStreamBytes } from '../transport/limits.ts';
import { readWhole } from '../transport/read-whole.ts';
import { SseParser } from '../transport/sse.ts';
import { malformed, transportError } from './anthropic-errors.ts';
import { EventReader } from './anthropic-events.ts';
import { readMessage } from './anthropic-message.ts';
import { Endpoint, type EndpointDependencies } from './endpoint.ts';
import { passingMessages } from './passing.ts';

export interface AnthropicDependencies extends EndpointDependencies {
  /** Of the model, in tokens: no count that the upstream reports is believed beyond it. */
  readonly contextLength: number;
}

/** A model behind an HTTP endpoint that speaks the messages API. */
export const anthropicUpstream = (declared: ReachedAnthropic, dependencies: AnthropicDependencies): Upstream => {
  const endpoint = new Endpoint(declared, dependencies);
  const { contextLength } = dependencies;
  return {
    answer: (request, options) => answer(endpoint, contextLength, bodyOf(request, false), options),
    stream: (request, options) => chunks(endpoint, contextLength, bodyOf(request, true), options),
    countTokens: (request, options) => endpoint.countTokens(Buffer.from(jsonText(request)), {}, options),
    passing: { messages: passingMessages(endpoint) },
    close: () => endpoint.close(),
  };
};

/** The request as it goes out, and all of it that is kept while the upstream is silent: bytes outside the engine's heap. */
const bodyOf = (request: GenerateRequest, stream: boolean): Buffer => Buffer.from(jsonText({ ...request, stream }));

const answer = async (
  endpoint: Endpoint,
  contextLength: number,
  body: Buffer,
  options: GenerateOptions,
): Promise<Answer> => {
  const exchange = await endpoint.post({ body }, 'application/json', maxAnswerBytes, options);
  try {
    return await readAnswer(exchange, contextLength);
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    exchange.close();
  }
};

const readAnswer = async (exchange: Exchange, contextLength: number): Promise<Answer> => {
  const bytes = await readWhole(exchange);
  if (!isUtf8(bytes)) throw malformed('the answer is not UTF-8');
  return readMessage(bytes.toString('utf8'), contextLength);
};

async function* chunks(
  endpoint: Endpoint,
  contextLength: number,
  body: Buffer,
  options: GenerateOptions,
): AsyncGenerator<Chunk, void, undefined> {
  const exchange = await endpoint.post({ body }, 'text/event-stream', maxStreamBytes, options);
  const parser = new SseParser(maxEventBytes);
  const reader = new EventReader(contextLength, endpoint.hide);
  // The start waits for what follows it: an upstream that says 200 and then fails at once gets an honest status.
  let start: Chunk | null = null;
  try {
    while (!reader.ended) {
      const piece = await exchange.read();
      if (piece === null) throw malformed('the stream ends before the message does');
      for (const event of parser.push(piece)) {
        options.signal.throwIfAborted();
        for (const chunk of reader.read(event.data)) {
          if (chunk.type === 'start') {
            start = chunk;
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
    exchange.close();
  }
}
