import { setTimeout as wait } from 'node:timers/promises';
import { drop, type Questions } from './asking.ts';

/** Soft and hard deletes. */
export const deletes: Questions = {
  'soft, then read': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event()], 'no_stream');
      await x.client.deleteStream(s, { expectedRevision: 1n });
      return x.got(s);
    },
    answer: { error: 'stream-not-found', streamName: '<s>' },
  },
  'soft with a stale revision': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event()], 'no_stream');
      return x.client.deleteStream(s, { expectedRevision: 0n }).then(
        () => 'accepted',
        (e) => x.refusal(e),
      );
    },
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: '0n', actual: '1n' },
  },
  'soft on a missing stream': {
    ask: async (x) =>
      x.client.deleteStream(x.stream()).then(
        () => 'accepted',
        (e) => x.refusal(e),
      ),
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: '-2n', actual: '-1n' },
  },
  'soft on a missing stream, no_stream': {
    ask: async (x) =>
      x.client.deleteStream(x.stream(), { expectedRevision: 'no_stream' }).then(
        () => 'accepted',
        (e) => x.refusal(e),
      ),
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: '-1n', actual: '-1n' },
  },
  'soft, then append no_stream': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event()], 'no_stream');
      await x.client.deleteStream(s);
      const r = await x.put(s, [x.event({ again: 1 })], 'no_stream');
      return [drop(r), x.show(await x.got(s))];
    },
    answer: [{ next: '2n' }, [{ type: 'thing-happened', rev: '2n', data: { again: 1 } }]],
  },
  'soft, then append any': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event()], 'no_stream');
      await x.client.deleteStream(s);
      const r = await x.put(s, [x.event({ again: 1 })], 'any');
      return [drop(r), x.show(await x.got(s))];
    },
    answer: [{ next: '2n' }, [{ type: 'thing-happened', rev: '2n', data: { again: 1 } }]],
  },
  'soft, then append at the old revision': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event()], 'no_stream');
      await x.client.deleteStream(s);
      const r = await x.put(s, [x.event({ again: 1 })], 1n);
      return [drop(r), x.show(await x.got(s))];
    },
    answer: [{ next: '2n' }, [{ type: 'thing-happened', rev: '2n', data: { again: 1 } }]],
  },
  'soft, then stream_exists': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      await x.client.deleteStream(s);
      return x.put(s, [x.event()], 'stream_exists').then(drop);
    },
    answer: { error: 'stream-deleted', streamName: '<s>' },
  },
  'soft, the metadata it leaves': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      await x.client.deleteStream(s);
      const [m] = await x.got(`$$${s}`);
      return { type: m.event.type, raw: JSON.stringify(m.event.data) };
    },
    answer: { type: '$metadata', raw: '{"$tb":9223372036854776000}' },
  },
  'recreated, the metadata it leaves': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event()], 'no_stream');
      await x.client.deleteStream(s);
      await x.put(s, [x.event()], 'no_stream');
      await wait(200);
      const [m] = await x.got(`$$${s}`);
      return { data: m.event.data, rev: `${m.event.revision}n` };
    },
    answer: { data: { $tb: 2 }, rev: '1n' },
  },
  'soft twice': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      await x.client.deleteStream(s);
      return x.client.deleteStream(s).then(
        () => 'accepted',
        (e) => x.refusal(e),
      );
    },
    answer: 'accepted',
  },
  'then read, append, metadata, tombstone': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      await x.client.tombstoneStream(s);
      return [
        await x.got(s),
        await x.put(s, [x.event()], 'any'),
        await x.put(s, [x.event()], 'no_stream'),
        await x.put(s, [x.event()], 0n),
        await x.put(s, [x.event()], 'stream_exists'),
        await x.client.tombstoneStream(s).then(
          () => 'accepted',
          (e) => x.refusal(e),
        ),
        await x.client.deleteStream(s).then(
          () => 'accepted',
          (e) => x.refusal(e),
        ),
        await x.client.setStreamMetadata(s, {}).then(
          () => 'accepted',
          (e) => x.refusal(e),
        ),
        await x.client.getStreamMetadata(s).then(
          (m) => ({ metadata: m.metadata ?? null }),
          (e) => x.refusal(e),
        ),
      ];
    },
    answer: [
      { error: 'stream-deleted', streamName: '<s>' },
      { error: 'stream-deleted', streamName: '<s>' },
      { error: 'stream-deleted', streamName: '<s>' },
      { error: 'stream-deleted', streamName: '<s>' },
      { error: 'stream-deleted', streamName: '<s>' },
      { error: 'stream-deleted', streamName: '<s>' },
      { error: 'stream-deleted', streamName: '<s>' },
      { error: 'stream-deleted', streamName: '$$<s>' },
      { error: 'stream-deleted', streamName: '$$<s>' },
    ],
  },
  'a stream that never was': {
    ask: async (x) => {
      const s = x.stream();
      return [
        await x.client.tombstoneStream(s, { expectedRevision: 'no_stream' }).then(
          () => 'accepted',
          (e) => x.refusal(e),
        ),
        await x.got(s),
        await x.put(s, [x.event()], 'no_stream'),
      ];
    },
    answer: [
      'accepted',
      { error: 'stream-deleted', streamName: '<s>' },
      { error: 'stream-deleted', streamName: '<s>' },
    ],
  },
  'with a stale revision': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event()], 'no_stream');
      return x.client.tombstoneStream(s, { expectedRevision: 0n }).then(
        () => 'accepted',
        (e) => x.refusal(e),
      );
    },
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: '0n', actual: '1n' },
  },
  'what $all shows of it': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event()], 'no_stream');
      await x.client.tombstoneStream(s);
      const out = await x.gotAll({ fromPosition: { commit: r.at, prepare: r.at }, maxCount: 50 });
      return out
        .filter((e) => e.event.streamId === s)
        .map((e) => ({ type: e.event.type, rev: `${e.event.revision}n` }));
    },
    answer: [
      { type: 'thing-happened', rev: '0n' },
      { type: '$streamDeleted', rev: '9223372036854775807n' },
    ],
  },
  'what $all shows of a soft delete': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event()], 'no_stream');
      await x.client.deleteStream(s);
      const out = await x.gotAll({ fromPosition: { commit: r.at, prepare: r.at }, maxCount: 50 });
      return out
        .filter((e) => e.event.streamId.endsWith(s))
        .map((e) => ({ stream: e.event.streamId, type: e.event.type, rev: `${e.event.revision}n` }));
    },
    answer: [
      { stream: '<s>', type: 'thing-happened', rev: '0n' },
      { stream: '$$<s>', type: '$metadata', rev: '0n' },
    ],
  },
};
