import { setTimeout as wait } from 'node:timers/promises';
import type { Questions } from './asking.ts';

/** Subscriptions to a stream. */
export const streamSubscriptions: Questions = {
  'history, caught up, live': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      const got = x.heard(x.client.subscribeToStream(s), (o) => o.filter((e) => e.is === 'event').length === 3);
      await wait(400);
      await x.put(s, [x.event({ i: 2 })], 1n);
      return (await got).map(({ at, stream, ...e }) => e);
    },
    answer: [
      { is: 'confirmation' },
      { is: 'event', type: 'thing-happened', rev: '0n', data: { i: 0 } },
      { is: 'event', type: 'thing-happened', rev: '1n', data: { i: 1 } },
      { is: 'caughtUp' },
      { is: 'event', type: 'thing-happened', rev: '2n', data: { i: 2 } },
    ],
  },
  'from a revision is exclusive': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 }), x.event({ i: 2 })], 'no_stream');
      return (
        await x.heard(x.client.subscribeToStream(s, { fromRevision: 0n }), (o) => o.some((e) => e.is === 'caughtUp'))
      )
        .filter((e) => e.is === 'event')
        .map((e) => e.rev);
    },
    answer: ['1n', '2n'],
  },
  'from END': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 })], 'no_stream');
      const got = x.heard(x.client.subscribeToStream(s, { fromRevision: 'end' }), (o) =>
        o.some((e) => e.is === 'event'),
      );
      await wait(500);
      await x.put(s, [x.event({ i: 1 })], 0n);
      return (await got).filter((e) => e.is === 'event').map((e) => e.rev);
    },
    answer: ['1n'],
  },
  'missing stream, then created': {
    ask: async (x) => {
      const s = x.stream();
      const got = x.heard(x.client.subscribeToStream(s), (o) => o.some((e) => e.is === 'event'));
      await wait(500);
      await x.put(s, [x.event()], 'no_stream');
      return (await got).map(({ at, stream, ...e }) => e);
    },
    answer: [{ is: 'confirmation' }, { is: 'caughtUp' }, { is: 'event', type: 'thing-happened', rev: '0n', data: {} }],
  },
  'tombstoned while live': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const got = x.heard(x.client.subscribeToStream(s), (o) => o.some((e) => e.error));
      await wait(500);
      await x.client.tombstoneStream(s);
      return (await got).map(({ at, stream, ...e }) => e);
    },
    answer: [
      { is: 'confirmation' },
      { is: 'event', type: 'thing-happened', rev: '0n', data: {} },
      { is: 'caughtUp' },
      { is: 'event', type: '$streamDeleted', rev: '9223372036854775807n', data: '' },
      { error: 'stream-deleted', streamName: '<s>' },
    ],
  },
  'a tombstoned stream': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      await x.client.tombstoneStream(s);
      return (await x.heard(x.client.subscribeToStream(s), (o) => o.some((e) => e.error))).map(
        ({ at, stream, ...e }) => e,
      );
    },
    answer: [{ error: 'stream-deleted', streamName: '<s>' }],
  },
  'soft-deleted while live, then recreated': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 })], 'no_stream');
      const got = x.heard(x.client.subscribeToStream(s), (o) => o.filter((e) => e.is === 'event').length === 2);
      await wait(500);
      await x.client.deleteStream(s);
      await x.put(s, [x.event({ i: 1 })], 'no_stream');
      return (await got).map(({ at, stream, ...e }) => e);
    },
    answer: [
      { is: 'confirmation' },
      { is: 'event', type: 'thing-happened', rev: '0n', data: { i: 0 } },
      { is: 'caughtUp' },
      { is: 'event', type: 'thing-happened', rev: '1n', data: { i: 1 } },
    ],
  },
};
