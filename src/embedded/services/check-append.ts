import type { ProposedEvent } from '../codec/append-request.ts';
import { NIL_UUID } from '../codec/uuid.ts';
import type { Limits } from '../limits.ts';

/** Why an append is refused without a look at the log. */
export type Fault =
  | { readonly is: 'bad'; readonly message: string }
  | { readonly is: 'missing'; readonly names: string }
  | { readonly is: 'too-large'; readonly limit: number };

/** Fixed fields of a record, and its index entry. */
const PER_EVENT_BYTES = 200;

export class AppendSize {
  private readonly nameBytes: number;
  private data = 0;
  private stored = 0;

  /** @param nameBytes length of the stream's name, which each record repeats */
  constructor(nameBytes: number) {
    this.nameBytes = nameBytes;
  }

  /** Adds the next event. @returns why it is refused; the size of the data comes first */
  add(event: ProposedEvent, limits: Limits): Fault | undefined {
    const { data, metadata, type, missing, id } = event;
    if (missing !== '') return { is: 'missing', names: missing };
    this.data += data.length;
    if (this.data > limits.appendBytes) return { is: 'too-large', limit: limits.appendBytes };
    if (id === NIL_UUID) return bad('An event needs an id.');
    if (type.length === 0) return bad('An event needs a type.');
    if (type.length > limits.eventTypeBytes) return bad(`An event type may have ${limits.eventTypeBytes} bytes.`);
    if (data.length + metadata.length + 2 * type.length > limits.eventBytes) {
      return { is: 'too-large', limit: limits.eventBytes };
    }
    this.stored += PER_EVENT_BYTES + this.nameBytes + type.length + metadata.length + data.length;
    return this.stored > limits.storedBytes
      ? bad(`An append may take ${limits.storedBytes} bytes on disk.`)
      : undefined;
  }
}

/** The `$$` of metastreams do not count. */
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
