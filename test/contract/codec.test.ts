import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ProposedEvent,
  readAppend,
  readBatchAppend,
  readDelete,
} from '../../src/embedded/codec/append-request.ts';
import {
  encodeAppendSuccess,
  encodeAppendWrongVersion,
  encodeBatchRefusal,
  encodeBatchSuccess,
  encodeDeleted,
} from '../../src/embedded/codec/append-response.ts';
import type { Expected } from '../../src/embedded/codec/expected.ts';
import { readReadRequest } from '../../src/embedded/codec/read-request.ts';
import {
  CAUGHT_UP,
  encodeCheckpoint,
  encodeConfirmation,
  encodeStreamNotFound,
} from '../../src/embedded/codec/read-response.ts';
import { encodeSingleMember, encodeSupportedMethods } from '../../src/embedded/codec/server-info.ts';
import { readUuid, uuidMessage } from '../../src/embedded/codec/uuid.ts';
import { MalformedMessage, MINUS_ONE, WireReader } from '../../src/embedded/codec/wire.ts';
import { putVarint, varintSize } from '../../src/embedded/codec/write.ts';
import { Page } from '../../src/embedded/store/read/page.ts';
import { encodeRecord, recordSize } from '../../src/embedded/store/records/record.ts';

const uint64 = fc.oneof(
  fc.constantFrom(
    0n,
    1n,
    127n,
    128n,
    2n ** 28n,
    2n ** 31n,
    2n ** 32n,
    2n ** 35n,
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 63n - 1n,
    2n ** 63n,
    2n ** 64n - 1n,
  ),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
);
const exact = (value: bigint): number | bigint => (value < 2n ** 53n ? Number(value) : value);
/** What an expected revision says: the greatest number is -1, a stream that is not there. */
const meant = (expected: Expected): Expected => (expected === MINUS_ONE ? 'no_stream' : expected);
const safe = fc.oneof(fc.constantFrom(0, 1, 127, 128, 2 ** 31, 2 ** 32, 2 ** 35, 2 ** 53 - 1), fc.maxSafeNat());
const bytes = fc.uint8Array({ maxLength: 300 });
const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
const uuid = fc.uuid();
const keyOf = (text: string) => Buffer.from(text.replaceAll('-', ''), 'hex').toString('latin1');
const expectedRevision: fc.Arbitrary<Expected> = fc.oneof(
  fc.constantFrom<Expected>('any', 'no_stream', 'stream_exists'),
  uint64.map((value) => exact(value)),
);

function uuidPb(text: string, structured: boolean) {
  const message = new shared.UUID();
  if (!structured) return message.setString(text);
  const raw = Buffer.from(text.replaceAll('-', ''), 'hex');
  const parts = new shared.UUID.Structured();
  parts.setMostSignificantBits(String(raw.readBigInt64BE(0)));
  parts.setLeastSignificantBits(String(raw.readBigInt64BE(8)));
  return message.setStructured(parts);
}

const stream = (text: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(text));
const empty = () => new shared.Empty();

describe('integers', () => {
  test('51 are written and read back exactly, as numbers below 2^53 and bigints above', () => {
    fc.assert(
      fc.property(uint64, (value) => {
        const small = exact(value);
        const out = Buffer.alloc(1 + varintSize(small));
        expect(putVarint(out, putVarint(out, 0, 8), small)).toBe(out.length);
        const reader = new WireReader(out);
        expect(reader.field()).toBe(1);
        expect(reader.uint64()).toBe(small);
      }),
    );
  });

  test('51 longer than ten bytes, or cut off, are refused', () => {
    const long = Buffer.from([8, ...Array(11).fill(0x80)]);
    for (const message of [long, Buffer.from([8, 0x80])]) {
      const reader = new WireReader(message);
      reader.field();
      expect(() => reader.uint64()).toThrow(MalformedMessage);
    }
  });
});

test('51 no input makes the decoders throw anything but MalformedMessage', () => {
  const decoders = [(b: Buffer) => readAppend(b, 0), (b: Buffer) => readBatchAppend(b, 0), readDelete, readReadRequest];
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (input) => {
      for (const decode of decoders) {
        try {
          decode(Buffer.from(input));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage);
        }
      }
    }),
    { numRuns: 2000 },
  );
});

test('51 UUIDs are read in both forms and written in both forms', () => {
  fc.assert(
    fc.property(uuid, fc.boolean(), (text, structured) => {
      const message = Buffer.from(uuidPb(text, structured).serializeBinary());
      expect(readUuid(new WireReader(message))).toBe(keyOf(text));
      const written = shared.UUID.deserializeBinary(uuidMessage(structured ? 'structured' : 'string', text));
      expect(written.toObject()).toEqual(uuidPb(text, structured).toObject());
    }),
  );
});

const proposed = fc.record({
  id: uuid,
  structured: fc.boolean(),
  type: name,
  json: fc.boolean(),
  metadata: bytes,
  data: bytes,
});
type Proposed = typeof proposed extends fc.Arbitrary<infer T> ? T : never;

function fill<
  M extends InstanceType<typeof streams.BatchAppendReq.ProposedMessage | typeof streams.AppendReq.ProposedMessage>,
>(message: M, event: Proposed): M {
  message.setId(uuidPb(event.id, event.structured));
  message.getMetadataMap().set('type', event.type);
  message.getMetadataMap().set('content-type', event.json ? 'application/json' : 'application/octet-stream');
  message.setData(event.data);
  message.setCustomMetadata(event.metadata);
  return message;
}

function same(read: ProposedEvent, event: Proposed) {
  expect(read.id).toBe(keyOf(event.id));
  expect(read.type.toString()).toBe(event.type);
  expect(read.json).toBe(event.json);
  expect(read.missing).toBe('');
  expect(Buffer.compare(read.data, event.data)).toBe(0);
  expect(Buffer.compare(read.metadata, event.metadata)).toBe(0);
}

function setExpected(
  options: InstanceType<
    typeof streams.AppendReq.Options | typeof streams.BatchAppendReq.Options | typeof streams.DeleteReq.Options
  >,
  expected: Expected,
) {
  if (expected === 'any') options.setAny(empty());
  else if (expected === 'no_stream') options.setNoStream(empty());
  else if (expected === 'stream_exists') options.setStreamExists(empty());
  else if ('setRevision' in options) options.setRevision(String(expected));
  else options.setStreamPosition(String(expected));
}

describe('requests of the client', () => {
  test('51 BatchAppendReq', () => {
    fc.assert(
      fc.property(
        uuid,
        name,
        expectedRevision,
        fc.array(proposed, { maxLength: 4 }),
        fc.boolean(),
        (id, target, expected, events, final) => {
          const options = new streams.BatchAppendReq.Options();
          options.setStreamIdentifier(stream(target));
          setExpected(options, expected);
          const message = new streams.BatchAppendReq();
          message.setCorrelationId(uuidPb(id, false));
          message.setOptions(options);
          message.setIsFinal(final);
          for (const event of events)
            message.addProposedMessages(fill(new streams.BatchAppendReq.ProposedMessage(), event));
          const read = readBatchAppend(Buffer.from(message.serializeBinary()), 0);
          expect(read.final).toBe(final);
          expect(read.target?.stream.toString()).toBe(target);
          expect(read.target?.expected).toBe(meant(expected));
          expect(readUuid(new WireReader(read.correlation))).toBe(keyOf(id));
          expect(read.events.length).toBe(events.length);
          events.forEach((event, i) => {
            same(read.events[i]!, event);
          });
        },
      ),
    );
  });

  test('51 AppendReq and DeleteReq', () => {
    fc.assert(
      fc.property(name, expectedRevision, proposed, (target, expected, event) => {
        const options = new streams.AppendReq.Options();
        options.setStreamIdentifier(stream(target));
        setExpected(options, expected);
        const first = readAppend(Buffer.from(new streams.AppendReq().setOptions(options).serializeBinary()), 0);
        expect(first).toMatchObject({ expected: meant(expected), deadline: Number.POSITIVE_INFINITY });
        const next = new streams.AppendReq().setProposedMessage(fill(new streams.AppendReq.ProposedMessage(), event));
        same(readAppend(Buffer.from(next.serializeBinary()), 0) as ProposedEvent, event);
        const deletion = new streams.DeleteReq.Options();
        deletion.setStreamIdentifier(stream(target));
        setExpected(deletion, expected);
        const read = readDelete(Buffer.from(new streams.DeleteReq().setOptions(deletion).serializeBinary()));
        expect([read.stream.toString(), read.expected]).toEqual([target, meant(expected)]);
      }),
    );
  });

  test('51 ReadReq of a stream and of $all', () => {
    const from = fc.oneof(fc.constantFrom('start' as const, 'end' as const), uint64);
    fc.assert(
      fc.property(
        fc.option(name),
        from,
        uint64,
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        (target, start, count, backwards, links, structured) => {
          const options = new streams.ReadReq.Options();
          const shape =
            target === null ? new streams.ReadReq.Options.AllOptions() : new streams.ReadReq.Options.StreamOptions();
          if (start === 'start') shape.setStart(empty());
          else if (start === 'end') shape.setEnd(empty());
          else if (shape instanceof streams.ReadReq.Options.StreamOptions) shape.setRevision(String(start));
          else {
            const position = new streams.ReadReq.Options.Position();
            position.setCommitPosition(String(start));
            position.setPreparePosition(String(start));
            shape.setPosition(position);
          }
          if (shape instanceof streams.ReadReq.Options.StreamOptions)
            options.setStream(shape.setStreamIdentifier(stream(target!)));
          else options.setAll(shape);
          options.setReadDirection(backwards ? 1 : 0);
          options.setResolveLinks(links);
          options.setCount(String(count));
          const kind = new streams.ReadReq.Options.UUIDOption();
          if (structured) kind.setStructured(empty());
          else kind.setString(empty());
          options.setUuidOption(kind);
          const read = readReadRequest(Buffer.from(new streams.ReadReq().setOptions(options).serializeBinary()));
          expect(read.stream?.toString() ?? null).toBe(target);
          expect(read.from).toBe(start === MINUS_ONE ? 'end' : typeof start === 'bigint' ? exact(start) : start);
          expect(read).toMatchObject({
            backwards,
            resolveLinks: links,
            count: Number(count),
            uuids: structured ? 'structured' : 'string',
          });
        },
      ),
    );
  });

  test('51 a filter of a subscription', () => {
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 3 }),
        name,
        fc.boolean(),
        fc.nat(),
        fc.nat(),
        (prefixes, regex, onType, window, multiplier) => {
          const expression = new streams.ReadReq.Options.FilterOptions.Expression();
          expression.setPrefixList(prefixes);
          expression.setRegex(regex);
          const filter = new streams.ReadReq.Options.FilterOptions();
          if (onType) filter.setEventType(expression);
          else filter.setStreamIdentifier(expression);
          filter.setMax(window);
          filter.setCheckpointintervalmultiplier(multiplier);
          const options = new streams.ReadReq.Options();
          options.setAll(new streams.ReadReq.Options.AllOptions().setEnd(empty()));
          options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions());
          options.setFilter(filter);
          const read = readReadRequest(Buffer.from(new streams.ReadReq().setOptions(options).serializeBinary()));
          expect(read.count).toBeUndefined();
          expect(read.filter).toEqual({
            on: onType ? 'type' : 'stream',
            prefixes,
            regex,
            window,
            checkpointMultiplier: multiplier,
          });
        },
      ),
    );
  });
});

describe('answers to the client', () => {
  const asText = (value: Expected) => (typeof value === 'string' ? value : String(value));

  test('51 an accepted batch append', () => {
    fc.assert(
      fc.property(uuid, name, expectedRevision, safe, safe, (id, target, expected, revision, position) => {
        const correlation = uuidMessage('string', id);
        const read = streams.BatchAppendResp.deserializeBinary(
          encodeBatchSuccess(correlation, Buffer.from(target), expected, revision, position),
        );
        expect(read.getCorrelationId()?.getString()).toBe(id);
        expect(read.getSuccess()?.getCurrentRevision()).toBe(String(revision));
        expect(read.getSuccess()?.getPosition()?.getCommitPosition()).toBe(String(position));
        expect(read.getSuccess()?.getPosition()?.getPreparePosition()).toBe(String(position));
        expect(Buffer.from(read.getStreamIdentifier()!.getStreamName_asU8()).toString()).toBe(target);
        const shown = read.hasAny()
          ? 'any'
          : read.hasNoStream()
            ? 'no_stream'
            : read.hasStreamExists()
              ? 'stream_exists'
              : read.getStreamPosition();
        expect(shown).toBe(asText(expected));
      }),
    );
  });

  test('51 a batch append at the wrong revision', () => {
    fc.assert(
      fc.property(uuid, name, expectedRevision, fc.oneof(fc.constant(-1), safe), (id, target, expected, current) => {
        const refusal = { detail: 'WrongExpectedVersion', expected, current } as const;
        const read = streams.BatchAppendResp.deserializeBinary(
          encodeBatchRefusal(uuidMessage('string', id), Buffer.from(target), refusal),
        );
        const details = read.getError()!.getDetails()!;
        expect(details.getTypeName()).toBe('event_store.client.WrongExpectedVersion');
        const wrong = shared.WrongExpectedVersion.deserializeBinary(details.getValue_asU8());
        expect(wrong.hasCurrentStreamRevision() ? wrong.getCurrentStreamRevision() : '-1').toBe(String(current));
        const shown = wrong.hasExpectedAny()
          ? 'any'
          : wrong.hasExpectedNoStream()
            ? 'no_stream'
            : wrong.hasExpectedStreamExists()
              ? 'stream_exists'
              : wrong.getExpectedStreamPosition();
        expect(shown).toBe(asText(expected));
      }),
    );
  });

  test('51 classic append and delete', () => {
    fc.assert(
      fc.property(safe, safe, expectedRevision, (revision, position, expected) => {
        const success = streams.AppendResp.deserializeBinary(encodeAppendSuccess(revision, position)).getSuccess()!;
        expect([success.getCurrentRevision(), success.getPosition()?.getCommitPosition()]).toEqual([
          String(revision),
          String(position),
        ]);
        const wrong = streams.AppendResp.deserializeBinary(
          encodeAppendWrongVersion(revision, expected),
        ).getWrongExpectedVersion()!;
        expect(wrong.getCurrentRevision()).toBe(String(revision));
        const shown = wrong.hasExpectedAny()
          ? 'any'
          : wrong.hasExpectedNoStream()
            ? 'no_stream'
            : wrong.hasExpectedStreamExists()
              ? 'stream_exists'
              : wrong.getExpectedRevision();
        expect(shown).toBe(asText(expected));
        expect(streams.DeleteResp.deserializeBinary(encodeDeleted(position)).getPosition()?.getPreparePosition()).toBe(
          String(position),
        );
      }),
    );
  });

  test('51 control messages of reads', () => {
    expect(streams.ReadResp.deserializeBinary(CAUGHT_UP).hasCaughtUp()).toBe(true);
    fc.assert(
      fc.property(safe, name, (position, text) => {
        const checkpoint = streams.ReadResp.deserializeBinary(encodeCheckpoint(position)).getCheckpoint()!;
        expect([checkpoint.getCommitPosition(), checkpoint.getPreparePosition()]).toEqual([
          String(position),
          String(position),
        ]);
        expect(
          streams.ReadResp.deserializeBinary(encodeConfirmation(text)).getConfirmation()?.getSubscriptionId(),
        ).toBe(text);
        const missing = streams.ReadResp.deserializeBinary(
          encodeStreamNotFound(Buffer.from(text)),
        ).getStreamNotFound()!;
        expect(Buffer.from(missing.getStreamIdentifier()!.getStreamName_asU8()).toString()).toBe(text);
      }),
    );
  });

  test('51 server features and gossip', () => {
    const methods = features.SupportedMethods.deserializeBinary(
      encodeSupportedMethods('1.2.3', [{ service: 's', method: 'm', features: ['a', 'b'] }]),
    );
    expect(methods.toObject()).toEqual({
      eventStoreServerVersion: '1.2.3',
      methodsList: [{ serviceName: 's', methodName: 'm', featuresList: ['a', 'b'] }],
    });
    const id = '00112233-4455-6677-8899-aabbccddeeff';
    const [member] = gossip.ClusterInfo.deserializeBinary(
      encodeSingleMember(id, 'host', 2113, 1_700_000_000_000),
    ).getMembersList();
    expect(member?.toObject()).toMatchObject({
      instanceId: { string: id },
      timeStamp: '17000000000000000',
      state: 8,
      isAlive: true,
      httpEndPoint: { address: 'host', port: 2113 },
    });
  });

  test('51 an event, from its record on disk to ReadResp, alone and with a link', () => {
    fc.assert(
      fc.property(proposed, name, safe, safe, fc.boolean(), (event, target, revision, position, linked) => {
        const record = {
          position,
          streamNo: 7,
          name: Buffer.from(target),
          revision,
          id: keyOf(event.id),
          type: Buffer.from(event.type),
          json: event.json,
          metadata: event.metadata,
          data: event.data,
          created: 1_700_000_000_123,
        };
        const stored = Buffer.alloc(recordSize(record));
        encodeRecord(stored, 0, record);
        const page = new Page();
        const view = { bytes: stored, length: stored.length };
        const uuids = event.structured ? 'structured' : 'string';
        page.addEvent(linked ? undefined : view, linked ? view : undefined, position, uuids);
        const framed = page.take();
        expect(framed.readUInt32BE(1)).toBe(framed.length - 5);
        const read = streams.ReadResp.deserializeBinary(framed.subarray(5)).getEvent()!;
        expect(read.hasEvent()).toBe(!linked);
        const shown = linked ? read.getLink()! : read.getEvent()!;
        expect(shown.getId()!.toObject()).toEqual(uuidPb(event.id, event.structured).toObject());
        expect(Buffer.from(shown.getStreamIdentifier()!.getStreamName_asU8()).toString()).toBe(target);
        expect(shown.getStreamRevision()).toBe(String(revision));
        expect([shown.getCommitPosition(), shown.getPreparePosition()]).toEqual([String(position), String(position)]);
        expect(Object.fromEntries(shown.getMetadataMap().toArray())).toEqual({
          type: event.type,
          'content-type': event.json ? 'application/json' : 'application/octet-stream',
          created: '17000000001230000',
        });
        expect(Buffer.compare(shown.getData_asU8(), event.data)).toBe(0);
        expect(Buffer.compare(shown.getCustomMetadata_asU8(), event.metadata)).toBe(0);
        expect(read.getCommitPosition()).toBe(String(position));
      }),
    );
  });
});
