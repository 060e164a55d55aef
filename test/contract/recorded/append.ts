import { binaryEvent, jsonEvent } from '../events.ts';
import { classic, drop, type Questions } from './asking.ts';

/** Appends of every kind. */
export const appends: Questions = {
  'no_stream creates 0..n-1': {
    ask: async (x) => {
      const s = x.stream();
      return [
        drop(await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 }), x.event({ i: 2 })], 'no_stream')),
        x.show(await x.got(s)),
      ];
    },
    answer: [
      { next: '2n' },
      [
        { type: 'thing-happened', rev: '0n', data: { i: 0 } },
        { type: 'thing-happened', rev: '1n', data: { i: 1 } },
        { type: 'thing-happened', rev: '2n', data: { i: 2 } },
      ],
    ],
  },
  'no_stream on an existing stream': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      return x.put(s, [x.event()], 'no_stream');
    },
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: 'no_stream', actual: '0n' },
  },
  'exact revision, then a stale one': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      return [drop(await x.put(s, [x.event()], 0n)), await x.put(s, [x.event()], 0n), await x.put(s, [x.event()], 7n)];
    },
    answer: [
      { next: '1n' },
      { error: 'wrong-expected-version', streamName: '<s>', expected: '0n', actual: '1n' },
      { error: 'wrong-expected-version', streamName: '<s>', expected: '7n', actual: '1n' },
    ],
  },
  'exact revision on a missing stream': {
    ask: async (x) => x.put(x.stream(), [x.event()], 0n),
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: '0n', actual: 'no_stream' },
  },
  'any on new and existing': {
    ask: async (x) => {
      const s = x.stream();
      return [drop(await x.put(s, [x.event()], 'any')), drop(await x.put(s, [x.event()], 'any'))];
    },
    answer: [{ next: '0n' }, { next: '1n' }],
  },
  'stream_exists on missing': {
    ask: async (x) => x.put(x.stream(), [x.event()], 'stream_exists'),
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: 'stream_exists', actual: 'no_stream' },
  },
  'stream_exists on existing': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      return drop(await x.put(s, [x.event()], 'stream_exists'));
    },
    answer: { next: '1n' },
  },
  'stream_exists with only metadata': {
    ask: async (x) => {
      const s = x.stream();
      await x.client.setStreamMetadata(s, { maxCount: 10 });
      return x.put(s, [x.event()], 'stream_exists').then(drop);
    },
    answer: { next: '0n' },
  },
  'throwOnAppendFailure false': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const r = await x.client.appendToStream(s, x.event(), {
        expectedRevision: 'no_stream',
        ...{ throwOnAppendFailure: false },
      });
      return { success: r.success };
    },
    answer: { threw: 'wrong-expected-version' },
  },
  'with per-call credentials (the classic call)': {
    ask: async (x) => {
      const s = x.stream();
      return [
        drop(await x.put(s, [x.event(), x.event()], 'no_stream', classic)),
        await x.put(s, [x.event()], 'no_stream', classic),
        drop(await x.put(s, [x.event()], 1n, classic)),
      ];
    },
    answer: [
      { next: '1n' },
      { error: 'wrong-expected-version', streamName: '<s>', expected: 'no_stream', actual: '1n' },
      { next: '2n' },
    ],
  },
  'position is the read position of the last event': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event(), x.event()], 'no_stream');
      const read = await x.got(s);
      return read.at(-1).event.position?.commit === r.at;
    },
    answer: true,
  },
  'positions grow and commit equals prepare': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event(), x.event()], 'no_stream');
      const p = (await x.got(s)).map((r) => r.event.position);
      return p.every((a, i) => a.commit === a.prepare && (!i || a.commit > p[i - 1].commit));
    },
    answer: true,
  },
  'data, metadata, binary, unicode come back': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(
        s,
        [
          jsonEvent({ type: 'ünïcode-∆', data: { a: '✓', n: null, d: [1.5, 2 ** 53 - 1] }, metadata: { who: 'é' } }),
          binaryEvent({ type: 'raw', data: Uint8Array.from([0, 1, 255]), metadata: Uint8Array.from([9]) }),
        ],
        'no_stream',
      );
      return (await x.got(s)).map((r) => ({
        type: r.event.type,
        json: r.event.isJson,
        data: r.event.isJson ? r.event.data : Buffer.from(r.event.data).toString('hex'),
        meta: r.event.isJson ? r.event.metadata : Buffer.from(r.event.metadata).toString('hex'),
      }));
    },
    answer: [
      { type: 'ünïcode-∆', json: true, data: { a: '✓', n: null, d: [1.5, 9007199254740991] }, meta: { who: 'é' } },
      { type: 'raw', json: false, data: '0001ff', meta: '09' },
    ],
  },
  'event without metadata reads as': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({})], 'no_stream');
      const [r] = await x.got(s);
      return { metadata: r.event.metadata === undefined ? 'undefined' : r.event.metadata, data: r.event.data };
    },
    answer: { metadata: 'undefined', data: {} },
  },
  'created is now': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const [r] = await x.got(s);
      return Math.abs(Date.now() - new Date(r.event.created).getTime()) < 5000;
    },
    answer: true,
  },
  '2 MiB in one event': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event({ p: 'x'.repeat(2 * 1024 * 1024) })], 'no_stream');
      return r.error ? { error: r.error, max: r.max !== undefined } : drop(r);
    },
    answer: { error: 'maximum-append-size-exceeded', max: true },
  },
  'event larger than 16 MiB': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event({ p: 'x'.repeat(16 * 1024 * 1024 + 1) })], 'no_stream');
      return { refused: Boolean(r.error) };
    },
    answer: { refused: true },
  },
};
