import { binaryEvent, jsonEvent } from '../events.ts';
import { drop, plain, type Questions } from './asking.ts';

/** Metadata that is odd, and deletes around it. */
export const edgesMetadata: Questions = {
  'read with maxCount 0': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const r = await x.got(s, { maxCount: 0 });
      return Array.isArray(r) ? { events: r.length } : { error: true };
    },
    answer: { error: true },
  },
  'metadata with an acl comes back': {
    ask: async (x) => {
      const s = x.stream();
      await x.client.setStreamMetadata(s, {
        acl: { readRoles: ['$admins'], writeRoles: ['a', 'b'] },
        cacheControl: 5,
        maxAge: 9,
        n: 1,
      });
      return (await x.client.getStreamMetadata(s)).metadata;
    },
    answer: { acl: { readRoles: ['$admins'], writeRoles: ['a', 'b'] }, cacheControl: 5, maxAge: 9, n: 1 },
  },
  'malformed metadata counts as none': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      const w = await x.put(`$$${s}`, [binaryEvent({ type: '$metadata', data: Buffer.from('{"$maxCount":') })], 'any');
      return [drop(w), x.show(await x.got(s))];
    },
    answer: [
      { next: '0n' },
      [
        { type: 'thing-happened', rev: '0n', data: { i: 0 } },
        { type: 'thing-happened', rev: '1n', data: { i: 1 } },
      ],
    ],
  },
  'metadata written as an event': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      const w = await x.put(`$$${s}`, [jsonEvent({ type: '$metadata', data: { $maxCount: 1 } })], 'no_stream');
      return [drop(w), x.show(await x.got(s))];
    },
    answer: [{ next: '0n' }, [{ type: 'thing-happened', rev: '1n', data: { i: 1 } }]],
  },
  'metadata of the wrong type of value': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      await x.put(`$$${s}`, [jsonEvent({ type: '$metadata', data: { $maxCount: 'two' } })], 'any');
      return x.show(await x.got(s));
    },
    answer: [
      { type: 'thing-happened', rev: '0n', data: { i: 0 } },
      { type: 'thing-happened', rev: '1n', data: { i: 1 } },
    ],
  },
  'maxCount 0 or negative is refused or ignored': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      const w = await x.put(`$$${s}`, [jsonEvent({ type: '$metadata', data: { $maxCount: 0 } })], 'any');
      return [drop(w), x.show(await x.got(s))];
    },
    answer: [
      { next: '0n' },
      [
        { type: 'thing-happened', rev: '0n', data: { i: 0 } },
        { type: 'thing-happened', rev: '1n', data: { i: 1 } },
      ],
    ],
  },
  'metadata of a metastream': {
    ask: async (x) => {
      const s = x.stream();
      const w = await x.put(`$$$$${s}`, [jsonEvent({ type: '$metadata', data: { $maxCount: 5 } })], 'any');
      return w.error ? { refused: true } : drop(w);
    },
    answer: { next: '0n' },
  },
  'metadata of a tombstoned stream, appended': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      await x.client.tombstoneStream(s);
      const w = await x.put(`$$${s}`, [jsonEvent({ type: '$metadata', data: { $maxCount: 5 } })], 'any');
      return drop(w);
    },
    answer: { error: 'stream-deleted', streamName: '$$<s>' },
  },
  'truncateBefore beyond the end': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      await x.client.setStreamMetadata(s, { truncateBefore: 10 });
      const first = await x.got(s);
      const w = await x.put(s, [x.event({ i: 2 })], 'no_stream');
      const v = await x.put(s, [x.event({ i: 3 })], 1n);
      return [x.show(first), drop(w), drop(v), x.show(await x.got(s))];
    },
    answer: [
      [],
      { error: 'wrong-expected-version', streamName: '<s>', expected: 'no_stream', actual: '1n' },
      { next: '2n' },
      [],
    ],
  },
  'maxCount read from an older revision': {
    ask: async (x) => {
      const s = x.stream();
      await x.client.setStreamMetadata(s, { maxCount: 3 });
      await x.put(
        s,
        Array.from({ length: 10 }, (_, i) => x.event({ i })),
        'no_stream',
      );
      return [
        x.show(await x.got(s, { fromRevision: 2n, maxCount: 2 })),
        x.show(await x.got(s, { direction: 'backwards', fromRevision: 8n })),
        x.show(await x.got(s, { direction: 'backwards', fromRevision: 4n })),
      ];
    },
    answer: [
      [
        { type: 'thing-happened', rev: '7n', data: { i: 7 } },
        { type: 'thing-happened', rev: '8n', data: { i: 8 } },
      ],
      [
        { type: 'thing-happened', rev: '8n', data: { i: 8 } },
        { type: 'thing-happened', rev: '7n', data: { i: 7 } },
      ],
      [],
    ],
  },
  'delete with any, then read the tombstone of soft': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const r = await x.client.deleteStream(s, { expectedRevision: 'any' });
      const m = await x.client.getStreamMetadata(s);
      return { position: Boolean(r.position), metadata: plain(m.metadata) };
    },
    answer: { position: true, metadata: { truncateBefore: 9223372036854776000 } },
  },
  'soft delete, then tombstone': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      await x.client.deleteStream(s);
      return [
        await x.client.tombstoneStream(s).then(
          () => 'accepted',
          (e) => x.refusal(e),
        ),
        await x.got(s),
      ];
    },
    answer: ['accepted', { error: 'stream-deleted', streamName: '<s>' }],
  },
  'soft delete, then set metadata by hand': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      await x.client.deleteStream(s);
      await x.client.setStreamMetadata(s, { maxCount: 10 });
      return [
        await x.got(s).then((r) => x.show(r)),
        (await x.got(`$$${s}`)).map((r) => [`${r.event.revision}n`, r.event.data]),
        await x.put(s, [x.event()], 'no_stream').then(drop),
      ];
    },
    answer: [
      [],
      [['2n', { $maxCount: 10, $tb: 2 }]],
      { error: 'wrong-expected-version', streamName: '<s>', expected: 'no_stream', actual: '1n' },
    ],
  },
  'again after a soft delete, same ids, no_stream': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event({ i: 0 })];
      await x.put(s, e, 'no_stream');
      await x.client.deleteStream(s);
      const r = await x.put(s, e, 'no_stream');
      return [drop(r), x.show(await x.got(s))];
    },
    answer: [{ next: '0n' }, { error: 'stream-not-found', streamName: '<s>' }],
  },
  'again after a soft delete, same ids, any': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event({ i: 0 })];
      await x.put(s, e, 'any');
      await x.client.deleteStream(s);
      const r = await x.put(s, e, 'any');
      return [drop(r), x.show(await x.got(s))];
    },
    answer: [{ next: '0n' }, { error: 'stream-not-found', streamName: '<s>' }],
  },
};
