import type { ProposedEvent } from '../codec/append-request.ts';
import { NIL_UUID } from '../codec/uuid.ts';
import type { Limits } from '../limits.ts';

/** Why an append is refused before the log is looked at. */
export type Fault =
  | { readonly is: 'bad'; readonly message: string }
  | { readonly is: 'missing'; readonly names: string }
  | { readonly is: 'too-large'; readonly limit: number };

/** What an event counts against the append limit: data, metadata and twice the type. Bytes. */
export function eventSize(event: ProposedEvent): number {
  return event.data.length + event.metadata.length + 2 * event.type.length;
}

export function checkEvent(event: ProposedEvent, limits: Limits): Fault | undefined {
  if (event.missing !== '') return { is: 'missing', names: event.missing };
  if (event.id === NIL_UUID) return bad('An event needs an id.');
  if (event.type.length === 0) return bad('An event needs a type.');
  if (event.type.length > limits.eventTypeBytes) return bad(`An event type may have ${limits.eventTypeBytes} bytes.`);
  if (eventSize(event) > limits.eventBytes) return { is: 'too-large', limit: limits.eventBytes };
  return undefined;
}

/** Names that begin with `$$` are metastreams, whose prefix does not count. */
export function checkStreamName(name: Buffer, limits: Limits): Fault | undefined {
  if (name.length === 0) return bad('A stream needs a name.');
  let start = 0;
  while (name[start] === 0x24 && name[start + 1] === 0x24) start += 2;
  if (start === name.length) return bad('A stream name may not consist of $ alone.');
  if (name.length - start > limits.streamNameBytes) {
    return bad(`A stream name may have ${limits.streamNameBytes} bytes.`);
  }
  if (start > 32) return bad('A stream name may not begin with that many $.');
  return undefined;
}

const bad = (message: string): Fault => ({ is: 'bad', message });
