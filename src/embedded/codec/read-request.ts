import { readStreamName } from './append-request.ts';
import type { UuidKind } from './uuid.ts';
import { MalformedMessage, MINUS_ONE, WireReader } from './wire.ts';

export type From = 'start' | 'end' | number | bigint;

export interface FilterRequest {
  readonly on: 'stream' | 'type';
  readonly regex: string;
  readonly prefixes: readonly string[];
  /** Records between checkpoints, times the multiplier; default 32. */
  readonly window: number | undefined;
  readonly checkpointMultiplier: number;
}

export interface ReadRequest {
  /** undefined reads $all. */
  readonly stream: Buffer | undefined;
  readonly from: From;
  /** The prepare position; equal to `from` in any store. 0 without one. */
  readonly prepare: number | bigint;
  readonly backwards: boolean;
  readonly resolveLinks: boolean;
  /** Undefined for a subscription. */
  readonly count: number | undefined;
  readonly filter: FilterRequest | undefined;
  readonly uuids: UuidKind;
  /** The client wants the first and last revision of the stream: `compatibility` of 1 or more. */
  readonly tellsPositions: boolean;
}

/** Reads ReadReq. @throws MalformedMessage */
export function readReadRequest(message: Buffer): ReadRequest {
  const outer = new WireReader(message);
  for (let field = outer.field(); field !== 0; field = outer.field()) {
    if (field === 1) return readOptions(outer.message());
    outer.skip();
  }
  throw new MalformedMessage('no options');
}

function readOptions(reader: WireReader): ReadRequest {
  let stream: Buffer | undefined;
  let from: From | undefined;
  let prepare: number | bigint = 0;
  let backwards = false;
  let resolveLinks = false;
  let count: number | undefined;
  let subscription = false;
  let filter: FilterRequest | undefined;
  let uuids: UuidKind = 'string';
  let tellsPositions = false;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) {
      const options = reader.message();
      stream = Buffer.alloc(0);
      for (let part = options.field(); part !== 0; part = options.field()) {
        if (part === 1) stream = readStreamName(options.message());
        else if (part === 2) from = endOr(options.uint64());
        else {
          if (part === 3) from = 'start';
          else if (part === 4) from = 'end';
          options.skip();
        }
      }
    } else if (field === 2) {
      const options = reader.message();
      for (let part = options.field(); part !== 0; part = options.field()) {
        if (part === 1) {
          const [commit, other] = readPosition(options.message());
          prepare = other;
          from = other === MINUS_ONE ? endOr(commit) : commit;
        } else {
          if (part === 2) from = 'start';
          else if (part === 3) from = 'end';
          options.skip();
        }
      }
    } else if (field === 3) backwards = reader.uint32() === 1;
    else if (field === 4) resolveLinks = reader.bool();
    else if (field === 5) count = Number(reader.uint64());
    else if (field === 7) filter = readFilter(reader.message());
    else if (field === 9) uuids = readUuidKind(reader.message());
    else if (field === 10) tellsPositions = readCompatibility(reader.message()) > 0;
    else {
      if (field === 6) subscription = true;
      reader.skip();
    }
  }
  if (from === undefined) throw new MalformedMessage('neither a start nor an end nor a position to read from');
  if (!subscription && count === undefined) throw new MalformedMessage('neither a count nor a subscription');
  return {
    stream,
    from,
    prepare,
    backwards,
    resolveLinks,
    count: subscription ? undefined : count,
    filter,
    uuids,
    tellsPositions,
  };
}

/** Some clients, such as .NET's, send -1 for the end. */
const endOr = (number: number | bigint): From => (number === MINUS_ONE ? 'end' : number);

function readPosition(reader: WireReader): [commit: number | bigint, prepare: number | bigint] {
  let commit: number | bigint = 0;
  let prepare: number | bigint = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) commit = reader.uint64();
    else if (field === 2) prepare = reader.uint64();
    else reader.skip();
  }
  return [commit, prepare];
}

function readUuidKind(reader: WireReader): UuidKind {
  let kind: UuidKind = 'string';
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) kind = 'structured';
    else if (field === 2) kind = 'string';
    reader.skip();
  }
  return kind;
}

function readCompatibility(reader: WireReader): number {
  let compatibility = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) compatibility = reader.uint32();
    else reader.skip();
  }
  return compatibility;
}

function readFilter(reader: WireReader): FilterRequest {
  let on: 'stream' | 'type' | undefined;
  let regex = '';
  let prefixes: string[] = [];
  let window: number | undefined;
  let checkpointMultiplier = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1 || field === 2) {
      on = field === 1 ? 'stream' : 'type';
      regex = '';
      prefixes = [];
      const expression = reader.message();
      for (let part = expression.field(); part !== 0; part = expression.field()) {
        if (part === 1) regex = expression.text();
        else if (part === 2) prefixes.push(expression.text());
        else expression.skip();
      }
    } else if (field === 3) window = reader.uint32();
    else if (field === 5) checkpointMultiplier = reader.uint32();
    else reader.skip();
  }
  if (on === undefined) throw new MalformedMessage('a filter on neither stream nor type');
  return { on, regex, prefixes, window, checkpointMultiplier };
}
