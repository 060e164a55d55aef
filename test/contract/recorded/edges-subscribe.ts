import { setTimeout as wait } from 'node:timers/promises';
import { eventTypeFilter, excludeSystemEvents, streamNameFilter } from '@eventstore/db-client';
import type { Questions } from './asking.ts';

/** Filters and positions at their limits. */
export const edgesSubscribe: Questions = {
  'subscribe to all skips system events when asked': {
    ask: async (x) => {
      const s = x.stream();
      const at = (await x.put(s, [x.event({ i: 0 })], 'no_stream')).at;
      await x.client.setStreamMetadata(s, { maxCount: 5 });
      await x.put(s, [x.event({ i: 1 })], 0n);
      const got = await x.heard(
        x.client.subscribeToAll({ fromPosition: { commit: at, prepare: at }, filter: excludeSystemEvents() }),
        (o) => o.some((e) => e.is === 'event' && e.stream === s),
      );
      return got.filter((e) => e.is === 'event').every((e) => !e.type.startsWith('$'));
    },
    answer: true,
  },
  'subscribe to all shows metadata events': {
    ask: async (x) => {
      const s = x.stream();
      const at = (await x.put(s, [x.event({ i: 0 })], 'no_stream')).at;
      await x.client.setStreamMetadata(s, { maxCount: 5 });
      const got = await x.heard(
        x.client.subscribeToAll({
          fromPosition: { commit: at, prepare: at },
          filter: streamNameFilter({ prefixes: [`$$${s}`] }),
        }),
        (o) => o.some((e) => e.is === 'event'),
      );
      return got.filter((e) => e.is === 'event').map((e) => ({ type: e.type, rev: e.rev, data: e.data }));
    },
    answer: [{ type: '$metadata', rev: '0n', data: { $maxCount: 5 } }],
  },
  'subscribe from a position between records': {
    ask: async (x) => {
      const s = x.stream();
      const at = (await x.put(s, [x.event({ i: 0 })], 'no_stream')).at;
      for (let i = 0; i < 3; i++) await x.put(s, [x.event()], BigInt(i));
      const got = await x.heard(x.client.subscribeToAll({ fromPosition: { commit: at + 1n, prepare: at + 1n } }), (o) =>
        o.some((e) => e.error),
      );
      return got.map((e) => e.error ?? e.is);
    },
    answer: ['confirmation', 'unknown'],
  },
  'subscribe from a position beyond the end': {
    ask: async (x) => {
      const far = 9000000000000000n;
      const got = await x.heard(
        x.client.subscribeToAll({ fromPosition: { commit: far, prepare: far } }),
        (o) => o.some((e) => e.error),
        3000,
      );
      return got.map((e) => e.error ?? e.is);
    },
    answer: ['confirmation', 'caughtUp', 'time-up'],
  },
  'subscribe from a revision beyond the end': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 })], 'no_stream');
      const got = x.heard(
        x.client.subscribeToStream(s, { fromRevision: 5n }),
        (o) => o.some((e) => e.is === 'event'),
        2500,
      );
      await wait(500);
      await x.put(
        s,
        Array.from({ length: 3 }, (_, i) => x.event({ i: i + 1 })),
        0n,
      );
      return (await got).map(({ at, stream, ...e }) => e);
    },
    answer: [{ is: 'confirmation' }, { is: 'caughtUp' }, { is: 'time-up' }],
  },
  'filter by several prefixes of the type': {
    ask: async (x) => {
      const s = x.stream();
      const t = s.slice(-8);
      const at = (await x.put(s, [x.event()], 'no_stream')).at;
      await x.put(
        s,
        ['a', 'b', 'c'].map((k) => x.event({}, { type: `${k}${t}` })),
        0n,
      );
      const got = await x.heard(
        x.client.subscribeToAll({
          fromPosition: { commit: at, prepare: at },
          filter: eventTypeFilter({ prefixes: [`a${t}`, `c${t}`] }),
        }),
        (o) => o.filter((e) => e.is === 'event').length === 2,
      );
      return got.filter((e) => e.is === 'event').map((e) => e.type.replace(t, ''));
    },
    answer: ['a', 'c'],
  },
  'filter by an unanchored regex of the stream': {
    ask: async (x) => {
      const s = x.stream();
      const tail = s.slice(-12);
      const at = (await x.put(s, [x.event({ i: 0 })], 'no_stream')).at;
      await x.put(s, [x.event({ i: 1 })], 0n);
      const got = await x.heard(
        x.client.subscribeToAll({
          fromPosition: { commit: at, prepare: at },
          filter: streamNameFilter({ regex: tail }),
        }),
        (o) => o.some((e) => e.is === 'event'),
      );
      return got.filter((e) => e.is === 'event').map((e) => e.data);
    },
    answer: [{ i: 1 }],
  },
  'an invalid regex': {
    ask: async (x) => {
      const got = await x.heard(
        x.client.subscribeToAll({ filter: streamNameFilter({ regex: '(' }) }),
        (o) => o.length > 0,
      );
      return got.map((e) => (e.error ? 'refused' : e.is));
    },
    answer: ['refused'],
  },
  'what follows the last historical event in a filtered subscription': {
    ask: async (x) => {
      const s = x.stream();
      const at = (await x.put(s, [x.event({ i: 0 })], 'no_stream')).at;
      await x.put(s, [x.event({ i: 1 })], 0n);
      const marks: bigint[] = [];
      const got = await x.heard(
        x.client.subscribeToAll({
          fromPosition: { commit: at, prepare: at },
          filter: streamNameFilter({
            prefixes: [s],
            checkpointReached: (_, p) => {
              marks.push(p.commit);
            },
          }),
        }),
        (o) => o.some((e) => e.is === 'caughtUp'),
      );
      return {
        kinds: got.filter((e) => e.is !== 'event').map((e) => e.is),
        checkpointed: marks.length > 0,
        notBeyondHead: marks.every((m) => m >= at),
      };
    },
    answer: { kinds: ['confirmation', 'caughtUp'], checkpointed: true, notBeyondHead: true },
  },
};
