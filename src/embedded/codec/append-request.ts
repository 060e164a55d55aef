import type { Expected } from './expected.ts';
import { readUuid, type UuidKey } from './uuid.ts';
import { MalformedMessage, MINUS_ONE, WireReader } from './wire.ts';

/** One event of an append. Byte fields share memory with the message they were read from. */
export interface ProposedEvent {
  readonly id: UuidKey;
  readonly type: Buffer;
  /** The content type is exactly application/json. */
  readonly json: boolean;
  readonly metadata: Buffer;
  readonly data: Buffer;
  /** Required metadata that is missing: `type`, `content-type`, comma-separated. */
  readonly missing: string;
}

/** The stream and expected revision of an append, delete or tombstone. */
export interface Target {
  readonly stream: Buffer;
  readonly expected: Expected;
  /** Wall-clock milliseconds; Infinity for none. Batch appends only. */
  readonly deadline: number;
}

export interface BatchAppendMessage {
  /** The bytes of the correlation id, sent back in the answer. */
  readonly correlation: Buffer;
  readonly target: Target | undefined;
  readonly events: readonly ProposedEvent[];
  readonly final: boolean;
}

const EMPTY: Buffer = Buffer.alloc(0);
const JSON_TYPE = Buffer.from('application/json');
const TYPE = Buffer.from('type');
const CONTENT_TYPE = Buffer.from('content-type');

/** Reads `StreamIdentifier`: field 3, the name's UTF-8. */
export function readStreamName(reader: WireReader): Buffer {
  let name = EMPTY;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 3) name = reader.slice();
    else reader.skip();
  }
  return name;
}

/** Reads the options of AppendReq, BatchAppendReq, DeleteReq and TombstoneReq. Relative deadlines count from `now`. */
function readTarget(reader: WireReader, now: number): Target {
  let stream = EMPTY;
  let expected: Expected | undefined;
  let deadline = Number.POSITIVE_INFINITY;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) stream = readStreamName(reader.message());
    else if (field === 2) expected = readRevision(reader);
    else if (field === 6) deadline = readSeconds(reader.message());
    else if (field === 7) deadline = now + readSeconds(reader.message());
    else {
      if (field === 3) expected = 'no_stream';
      else if (field === 4) expected = 'any';
      else if (field === 5) expected = 'stream_exists';
      reader.skip();
    }
  }
  if (expected === undefined) throw new MalformedMessage('no expected revision');
  return { stream, expected, deadline };
}

/** Some clients send -1 for `no_stream`. */
function readRevision(reader: WireReader): Expected {
  const revision = reader.uint64();
  return revision === MINUS_ONE ? 'no_stream' : revision;
}

/** Timestamp or Duration. @returns milliseconds */
function readSeconds(reader: WireReader): number {
  let ms = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) ms += Number(reader.int64()) * 1000;
    else if (field === 2) ms += Number(reader.int64()) / 1e6;
    else reader.skip();
  }
  return ms;
}

function readProposed(reader: WireReader): ProposedEvent {
  let id: UuidKey | undefined;
  let type: Buffer | undefined;
  let contentType: Buffer | undefined;
  let metadata = EMPTY;
  let data = EMPTY;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) id = readUuid(reader.message());
    else if (field === 2) {
      const entry = reader.message();
      let key = EMPTY;
      let value = EMPTY;
      for (let part = entry.field(); part !== 0; part = entry.field()) {
        if (part === 1) key = entry.slice();
        else if (part === 2) value = entry.slice();
        else entry.skip();
      }
      if (key.equals(TYPE)) type = value;
      else if (key.equals(CONTENT_TYPE)) contentType = value;
    } else if (field === 3) metadata = reader.slice();
    else if (field === 4) data = reader.slice();
    else reader.skip();
  }
  if (id === undefined) throw new MalformedMessage('an event without an id');
  const missing = [type === undefined ? 'type' : '', contentType === undefined ? 'content-type' : '']
    .filter(Boolean)
    .join(',');
  return { id, type: type ?? EMPTY, json: contentType?.equals(JSON_TYPE) ?? false, metadata, data, missing };
}

/** Reads one message of Append: the options, or one event. */
export function readAppend(message: Buffer, now: number): Target | ProposedEvent {
  const reader = new WireReader(message);
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) return readTarget(reader.message(), now);
    if (field === 2) return readProposed(reader.message());
    reader.skip();
  }
  throw new MalformedMessage('an AppendReq with neither options nor an event');
}

export function readBatchAppend(message: Buffer, now: number): BatchAppendMessage {
  const reader = new WireReader(message);
  let correlation = EMPTY;
  let target: Target | undefined;
  const events: ProposedEvent[] = [];
  let final = false;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) correlation = reader.slice();
    else if (field === 2) target = readTarget(reader.message(), now);
    else if (field === 3) events.push(readProposed(reader.message()));
    else if (field === 4) final = reader.bool();
    else reader.skip();
  }
  return { correlation, target, events, final };
}

export function readDelete(message: Buffer): Target {
  const reader = new WireReader(message);
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) return readTarget(reader.message(), 0);
    reader.skip();
  }
  throw new MalformedMessage('no options');
}
