import { setTimeout as wait } from 'node:timers/promises';
import { drop, type Questions } from './asking.ts';

/** What the metadata of a stream hides. */
export const hiding: Questions = {
  none: {
    ask: async (x) => {
      const m = await x.client.getStreamMetadata(x.stream());
      return { metadata: m.metadata, rev: m.metastreamRevision };
    },
    answer: {},
  },
  'set, get, revision lock': {
    ask: async (x) => {
      const s = x.stream();
      const a = await x.client.setStreamMetadata(s, { maxCount: 2, custom: 'c' }, { expectedRevision: 'no_stream' });
      const m = await x.client.getStreamMetadata(s);
      const e = await x.client.setStreamMetadata(s, {}, { expectedRevision: 'no_stream' }).then(
        () => 'accepted',
        (er) => x.refusal(er),
      );
      return [`${a.nextExpectedRevision}n`, m.metadata, e];
    },
    answer: [
      '0n',
      { maxCount: 2, custom: 'c' },
      { error: 'wrong-expected-version', streamName: '$$<s>', expected: 'no_stream', actual: '0n' },
    ],
  },
  'maxCount hides the older': {
    ask: async (x) => {
      const s = x.stream();
      await x.client.setStreamMetadata(s, { maxCount: 2 });
      await x.put(
        s,
        Array.from({ length: 5 }, (_, i) => x.event({ i })),
        'no_stream',
      );
      return [
        x.show(await x.got(s)),
        x.show(await x.got(s, { direction: 'backwards', fromRevision: 'end' })),
        x.show(await x.got(s, { fromRevision: 1n, maxCount: 1 })),
      ];
    },
    answer: [
      [
        { type: 'thing-happened', rev: '3n', data: { i: 3 } },
        { type: 'thing-happened', rev: '4n', data: { i: 4 } },
      ],
      [
        { type: 'thing-happened', rev: '4n', data: { i: 4 } },
        { type: 'thing-happened', rev: '3n', data: { i: 3 } },
      ],
      [{ type: 'thing-happened', rev: '3n', data: { i: 3 } }],
    ],
  },
  truncateBefore: {
    ask: async (x) => {
      const s = x.stream();
      await x.put(
        s,
        Array.from({ length: 5 }, (_, i) => x.event({ i })),
        'no_stream',
      );
      await x.client.setStreamMetadata(s, { truncateBefore: 3 });
      return [x.show(await x.got(s)), drop(await x.put(s, [x.event()], 4n))];
    },
    answer: [
      [
        { type: 'thing-happened', rev: '3n', data: { i: 3 } },
        { type: 'thing-happened', rev: '4n', data: { i: 4 } },
      ],
      { next: '5n' },
    ],
  },
  'maxAge hides the expired; the next append continues': {
    ask: async (x) => {
      const s = x.stream();
      await x.client.setStreamMetadata(s, { maxAge: 1 });
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      await wait(2200);
      const gone = x.show(await x.got(s));
      const wrong = await x.put(s, [x.event()], 'no_stream');
      const next = await x.put(s, [x.event({ i: 2 })], 1n);
      return [gone, drop(wrong), drop(next), x.show(await x.got(s))];
    },
    answer: [
      [],
      { error: 'wrong-expected-version', streamName: '<s>', expected: 'no_stream', actual: '1n' },
      { next: '2n' },
      [{ type: 'thing-happened', rev: '2n', data: { i: 2 } }],
    ],
  },
  'the metastream keeps one event': {
    ask: async (x) => {
      const s = x.stream();
      await x.client.setStreamMetadata(s, { maxCount: 2 });
      await x.client.setStreamMetadata(s, { maxCount: 3 });
      return (await x.got(`$$${s}`)).map((r) => ({ type: r.event.type, rev: `${r.event.revision}n` }));
    },
    answer: [{ type: '$metadata', rev: '1n' }],
  },
};
