import { isUtf8 } from 'node:buffer';
import { type Edit, edited, outerMembers } from '../../json/outer-members.ts';
import { Kind, Tape } from '../../json/tape/tape.ts';
import type { GenerateOptions, PassedAnswer, PassedEvents, PassedRequest, Passing } from '../port.ts';
import { EventFrames } from '../transport/event-frames.ts';
import { maxAnswerBytes, maxEventBytes, maxStreamBytes } from '../transport/limits.ts';
import { readWhole } from '../transport/read-whole.ts';
import { fieldsOf, parsedJson, readUsage } from './anthropic-blocks.ts';
import { malformed, transportError } from './anthropic-errors.ts';
import type { Endpoint } from './endpoint.ts';
import { mostPassedTokens, PassedEventReader } from './passed-events.ts';

/** The messages API of an endpoint for clients that speak it: bytes pass, and only usage is read (contract N1). */
export const passingMessages = (endpoint: Endpoint): Passing => ({
  answer: (request, options) => answer(endpoint, request, options),
  stream: (request, options) => events(endpoint, request, options),
  countTokens: ({ body, headers }, options) => endpoint.countTokens(body, headers, options),
});

const answer = async (endpoint: Endpoint, request: PassedRequest, options: GenerateOptions): Promise<PassedAnswer> => {
  const { body, headers } = request;
  const exchange = await endpoint.post({ body, headers }, 'application/json', maxAnswerBytes, options);
  try {
    return passedAnswer(await readWhole(exchange), request);
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : transportError(error);
  } finally {
    exchange.close();
  }
};

/** Of the answer in hand; it is read at once and to its end. */
const tape = new Tape();
const typeName = Buffer.from('type');
const messageType = Buffer.from('message');
const idName = Buffer.from('id');
const modelName = Buffer.from('model');
const usageName = Buffer.from('usage');

const passedAnswer = (bytes: Buffer, request: PassedRequest): PassedAnswer =>
  quickAnswer(bytes, request) ?? parsedAnswer(bytes, request);

/** An answer as upstreams write it, of which only the usage is parsed; null for any other. */
const quickAnswer = (bytes: Buffer, { id, model }: PassedRequest): PassedAnswer | null => {
  if (!tape.scan(bytes) || tape.kind(0) !== Kind.object) return null;
  const type = tape.member(0, typeName);
  const usage = tape.member(0, usageName);
  if (type === -1 || usage === -1 || tape.kind(type) !== Kind.string || !tape.spells(type, messageType)) return null;
  const edits = [editOf(idName, id), editOf(modelName, model)];
  if (edits.includes(null)) return null;
  const body = edited(bytes, inOrder(edits as Edit[]));
  return { body, usage: readUsage(tape.value(usage), mostPassedTokens) };
};

/** Another value for a string of the answer on the tape; null where it has none. */
const editOf = (name: Buffer, value: string): Edit | null => {
  const entry = tape.member(0, name);
  if (entry === -1 || tape.kind(entry) !== Kind.string) return null;
  return { start: tape.start(entry) - 1, end: tape.end(entry) + 1, text: JSON.stringify(value) };
};

const parsedAnswer = (bytes: Buffer, { id, model }: PassedRequest): PassedAnswer => {
  if (!isUtf8(bytes)) throw malformed('the answer is not UTF-8');
  const message = fieldsOf(parsedJson(bytes.toString('utf8'), 'the answer'), 'the answer');
  if (message.type !== 'message') throw malformed('the answer is not a message');
  const members = outerMembers(bytes);
  const edits: Edit[] = [];
  for (const [name, value] of Object.entries({ id, model })) {
    const member = members.get(name);
    if (member === undefined) throw malformed(`the answer has no ${name}`);
    edits.push({ start: member.valueStart, end: member.end, text: JSON.stringify(value) });
  }
  return { body: edited(bytes, inOrder(edits)), usage: readUsage(message.usage, mostPassedTokens) };
};

const inOrder = (edits: Edit[]): Edit[] => edits.sort((one, other) => one.start - other.start);

async function* events(
  endpoint: Endpoint,
  request: PassedRequest,
  options: GenerateOptions,
): AsyncGenerator<PassedEvents, void, undefined> {
  const { body, headers, id, model } = request;
  const exchange = await endpoint.post({ body, headers }, 'text/event-stream', maxStreamBytes, options);
  const frames = new EventFrames(maxEventBytes);
  const reader = new PassedEventReader(id, model, endpoint.hide);
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
