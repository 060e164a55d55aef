import type { GenerateOptions, MessagesPassing, PassedAnswer, PassedEvents, PassedRequest } from '../port.ts';
import { EventFrames } from '../transport/event-frames.ts';
import { maxAnswerBytes, maxEventBytes, maxStreamBytes } from '../transport/limits.ts';
import { readWhole } from '../transport/read-whole.ts';
import { malformed, transportError } from './anthropic-errors.ts';
import type { Endpoint } from './endpoint.ts';
import { PassedEventReader } from './passed-events.ts';
import { ownAnswer } from './passed-message.ts';

/** The messages API of an endpoint for clients that speak it: bytes pass, and only usage is read (contract N1). */
export const passingMessages = (endpoint: Endpoint): MessagesPassing => ({
  answer: (request, options) => answer(endpoint, request, options),
  stream: (request, options) => events(endpoint, request, options),
  countTokens: ({ body, headers }, options) => endpoint.countTokens(body, headers, options),
});

const answer = async (endpoint: Endpoint, request: PassedRequest, options: GenerateOptions): Promise<PassedAnswer> => {
  const { body, headers } = request;
  const exchange = await endpoint.post({ body, headers }, 'application/json', maxAnswerBytes, options);
  try {
    const { document, usage } = ownAnswer(await readWhole(exchange), request);
    return { body: document, usage };
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    exchange.close();
  }
};

async function* events(
  endpoint: Endpoint,
  request: PassedRequest,
  options: GenerateOptions,
): AsyncGenerator<PassedEvents, void, undefined> {
  const { body, headers } = request;
  const exchange = await endpoint.post({ body, headers }, 'text/event-stream', maxStreamBytes, options);
  const frames = new EventFrames(maxEventBytes);
  const reader = new PassedEventReader(request, endpoint.hide);
  try {
    while (!reader.ended) {
      const piece = await exchange.read();
      if (piece === null) throw malformed('the stream ends before the message does');
      const passed = reader.readAll(frames.push(piece));
      if (reader.ended) exchange.drain();
      if (passed.events.length > 0) yield eventsOf(reader, passed.events);
      if (passed.failure !== null) throw passed.failure;
    }
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    exchange.close();
  }
}

const eventsOf = (reader: PassedEventReader, events: Buffer): PassedEvents => ({
  start: reader.takeStart(),
  events,
  usage: reader.usage,
  outputBytes: reader.outputBytes,
  ended: reader.ended,
});
