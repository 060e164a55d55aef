import type { Refusal } from '../../../errors.ts';
import { failure } from '../../../http/error-envelopes.ts';
import type { Hold } from '../../../http/route.ts';
import type { AnswerForm } from '../../reply/answer-form.ts';
import { textIn } from '../../reply/kept.ts';
import { AnswerWithheld } from '../../reply/upstream-refusal.ts';
import type { Answer, AnswerBlock, Chunk } from '../../upstream/port.ts';
import { documentIn } from '../../upstream/transport/event-frames.ts';
import { type Emit, type ItemEvents, itemEvents } from './item-events.ts';
import { asCalled, itemId, outputItem } from './output-items.ts';
import { type ResponseEnvelope, responseText, statusAfter } from './response-text.ts';

export const responsesForm = (envelope: ResponseEnvelope): AnswerForm => {
  let next = 0;
  const emit: Emit = (type, members) => {
    const event = `event: ${type}\ndata: {"type":"${type}","sequence_number":${next},${members}}\n\n`;
    next += 1;
    return event;
  };
  return {
    family: 'chat',
    reads: 'input',
    whole: (answer) => wholeResponse(envelope, answer),
    events: (_, hold) => responseEvents(envelope, emit, hold),
    ping: ': ping\n\n',
    error: (refused, requestId, passed) => {
      if (passed !== undefined) next = numberAfter(passed) ?? next;
      return emit('error', errorMembers(refused, requestId));
    },
  };
};

const wholeResponse = (envelope: ResponseEnvelope, { content, stop_reason, usage }: Answer): string => {
  const status = statusAfter(stop_reason);
  const { id, asSummary, searches, called } = envelope;
  const blocks = searches ? content.reduce(joined, []) : content;
  const items = blocks.map((made, index) => {
    const block = asCalled(made, called);
    // Only the last item can have been cut off.
    const ended = index === blocks.length - 1 ? status : 'completed';
    return JSON.stringify(outputItem(block, itemId(id, block.type, index), { status: ended, asSummary }));
  });
  return responseText(envelope, status, items, usage);
};

/** Texts around a search are one message. */
const joined = (blocks: readonly AnswerBlock[], block: AnswerBlock): readonly AnswerBlock[] => {
  const last = blocks.at(-1);
  if (last?.type !== 'text' || block.type !== 'text') return [...blocks, block];
  return [...blocks.slice(0, -1), { type: 'text', text: last.text + block.text }];
};

/** Copies of the output that are kept until its end. */
const timesRepeated = 4;

const responseEvents = (envelope: ResponseEnvelope, emit: Emit, hold: Hold): ((chunk: Chunk) => string) => {
  /** Ended items, as JSON. */
  const items: string[] = [];
  let open: ItemEvents | null = null;
  let isText = false;
  const close = (status: 'completed' | 'incomplete'): string => {
    if (open === null) return '';
    const { events, item } = open.end(status);
    items.push(item);
    open = null;
    return events;
  };
  return (chunk) => {
    switch (chunk.type) {
      case 'start': {
        const response = `"response":${responseText(envelope, 'in_progress', [], null)}`;
        const created = emit('response.created', response);
        // The upstream's numbers go on from its own created; not every one sends the other event.
        return envelope.isPassing === true ? created : created + emit('response.in_progress', response);
      }
      case 'block_start': {
        const goesOn = isText && envelope.searches;
        isText = chunk.block.type === 'text';
        if (goesOn && isText) return '';
        // An item followed by another was not cut off.
        const before = close('completed');
        const index = items.length;
        const { id, asSummary, called } = envelope;
        const block = asCalled(chunk.block, called);
        open = itemEvents(emit, block, { id: itemId(id, block.type, index), index, asSummary });
        return before + open.begin();
      }
      case 'block_delta': {
        const full = hold(timesRepeated * Buffer.byteLength(textIn(chunk.delta)));
        if (full !== undefined) throw new AnswerWithheld(full);
        return open!.delta(chunk.delta);
      }
      case 'block_stop':
        return '';
      case 'end': {
        const status = statusAfter(chunk.stop_reason);
        const before = close(status);
        return before + emit(`response.${status}`, `"response":${responseText(envelope, status, items, chunk.usage)}`);
      }
    }
  };
};

/** Undefined if the upstream numbers none. */
const numberAfter = (events: Buffer): number | undefined => {
  const before = events.lastIndexOf('\n\n', -3);
  const document = documentIn(before === -1 ? events : events.subarray(before));
  const { sequence_number: last } = JSON.parse(document!.toString()) as { readonly sequence_number?: unknown };
  return Number.isSafeInteger(last) ? (last as number) + 1 : undefined;
};

/** Flat for event readers, and as an `error` (contract G.7). */
const errorMembers = (refused: Refusal, requestId: string): string => {
  const { error } = failure(refused, 'chat', requestId).body as { readonly error: Readonly<Record<string, unknown>> };
  const { code, message, param } = error;
  return JSON.stringify({ code, message, param, error }).slice(1, -1);
};
