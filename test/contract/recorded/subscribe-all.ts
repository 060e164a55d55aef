import { setTimeout as wait } from 'node:timers/promises';
import { eventTypeFilter, streamNameFilter } from '@eventstore/db-client';
import { binaryEvent } from '../events.ts';
import type { Questions } from './asking.ts';

/** Subscriptions to $all, filtered. */
export const allSubscriptions: Questions = {
  'prefix filter, exclusive position, order': {
    ask: async (x) => {
      const a = x.stream('a'),
        b = x.stream('b');
      const first = await x.put(a, [x.event({ i: 0 })], 'no_stream');
      for (let i = 1; i < 6; i++) await x.put(i % 2 ? b : a, [x.event({ i })], 'any');
      const got = await x.heard(
        x.client.subscribeToAll({
          fromPosition: { commit: first.at, prepare: first.at },
          filter: streamNameFilter({ prefixes: [a] }),
        }),
        (o) => o.filter((e) => e.is === 'event').length === 2,
      );
      return got.filter((e) => e.is === 'event').map((e) => e.data);
    },
    answer: [{ i: 2 }, { i: 4 }],
  },
  'event type regex': {
    ask: async (x) => {
      const s = x.stream();
      const t = `kind${s.slice(-8)}`;
      const at = (await x.put(s, [x.event()], 'no_stream')).at;
      await x.put(
        s,
        [x.event({}, { type: `${t}-yes` }), x.event({}, { type: 'no' }), x.event({}, { type: `${t}-also` })],
        0n,
      );
      const got = await x.heard(
        x.client.subscribeToAll({
          fromPosition: { commit: at, prepare: at },
          filter: eventTypeFilter({ regex: `^${t}` }),
        }),
        (o) => o.filter((e) => e.is === 'event').length === 2,
      );
      return got.filter((e) => e.is === 'event').map((e) => e.type.replace(t, 'kind'));
    },
    answer: ['kind-yes', 'kind-also'],
  },
  'checkpoints while nothing matches': {
    ask: async (x) => {
      const s = x.stream();
      const at = (await x.put(s, [x.event()], 'no_stream')).at;
      await x.put(
        s,
        Array.from({ length: 200 }, (_, i) => x.event({ i })),
        0n,
      );
      const marks: bigint[] = [];
      const filter = streamNameFilter({
        prefixes: ['nothing-has-this-name'],
        checkpointInterval: 1,
        checkpointReached: (_, p) => {
          marks.push(p.commit);
        },
      });
      const sub = x.client.subscribeToAll({ fromPosition: { commit: at, prepare: at }, filter });
      await x.heard(sub, () => marks.length >= 5);
      return {
        atLeast5: marks.length >= 5,
        growing: marks.every((m, i) => !i || m > marks[i - 1]!),
        beyondStart: marks.every((m) => m >= at),
      };
    },
    answer: { atLeast5: true, growing: true, beyondStart: true },
  },
  '50 writers, nothing lost, in order': {
    ask: async (x) => {
      const p = x.stream('p');
      const at = (await x.put(p, [x.event()], 'no_stream')).at;
      const got = x.heard(
        x.client.subscribeToAll({
          fromPosition: { commit: at, prepare: at },
          filter: streamNameFilter({ prefixes: [`${p}w`] }),
        }),
        (o) => o.filter((e) => e.is === 'event').length === 1000,
      );
      await Promise.all(
        Array.from({ length: 50 }, async (_, w) => {
          for (let i = 0; i < 20; i++) await x.put(`${p}w${w}`, [x.event({ i })], i ? BigInt(i - 1) : 'no_stream');
        }),
      );
      const e = (await got).filter((o) => o.is === 'event');
      return { n: e.length, inOrder: e.every((o, i) => !i || o.at > e[i - 1].at) };
    },
    answer: { n: 1000, inOrder: true },
  },
  'from END sees only what comes': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 })], 'no_stream');
      const got = x.heard(
        x.client.subscribeToAll({ fromPosition: 'end', filter: streamNameFilter({ prefixes: [s] }) }),
        (o) => o.some((e) => e.is === 'event'),
      );
      await wait(500);
      await x.put(s, [x.event({ i: 1 })], 0n);
      return (await got).filter((e) => e.is === 'event').map((e) => e.data);
    },
    answer: [{ i: 1 }],
  },
  'links are not resolved unless asked, filters see the link': {
    ask: async (x) => {
      const a = x.stream('a'),
        l = x.stream('l');
      const at = (await x.put(a, [x.event({ i: 0 })], 'no_stream')).at;
      await x.put(l, [binaryEvent({ type: '$>', data: Buffer.from(`0@${a}`) })], 'no_stream');
      const go = (resolveLinkTos: boolean) =>
        x.heard(
          x.client.subscribeToAll({
            fromPosition: { commit: at, prepare: at },
            resolveLinkTos,
            filter: streamNameFilter({ prefixes: [l] }),
          }),
          (o) => o.some((e) => e.is === 'event'),
        );
      return [
        (await go(false)).filter((e) => e.is === 'event').map(({ type, link }) => ({ type, link })),
        (await go(true)).filter((e) => e.is === 'event').map(({ type, link }) => ({ type, link })),
      ];
    },
    answer: [[{ type: '$>' }], [{ type: 'thing-happened', link: '$>' }]],
  },
};
