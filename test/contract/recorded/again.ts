import { drop, type Questions } from './asking.ts';

/** Appends that are repeated, and writers that race. */
export const repetitions: Questions = {
  'same ids, no_stream': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event({ i: 0 }), x.event({ i: 1 })];
      const a = await x.put(s, e, 'no_stream'),
        b = await x.put(s, e, 'no_stream');
      return { same: a.next === b.next && a.at === b.at, events: (await x.got(s)).length };
    },
    answer: { same: true, events: 2 },
  },
  'same ids, exact revision': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const e = [x.event(), x.event()];
      const a = await x.put(s, e, 0n),
        b = await x.put(s, e, 0n);
      return { same: a.next === b.next && a.at === b.at, events: (await x.got(s)).length };
    },
    answer: { same: true, events: 3 },
  },
  'same ids, exact revision, after others wrote': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const e = [x.event(), x.event()];
      const a = await x.put(s, e, 0n);
      await x.put(s, [x.event(), x.event()], 2n);
      const b = await x.put(s, e, 0n);
      return { same: a.next === b.next && a.at === b.at, b: drop(b), events: (await x.got(s)).length };
    },
    answer: { same: true, b: { next: '2n' }, events: 5 },
  },
  'same ids, any': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event(), x.event()];
      const a = await x.put(s, e, 'any'),
        b = await x.put(s, e, 'any');
      return { same: a.next === b.next && a.at === b.at, events: (await x.got(s)).length };
    },
    answer: { same: true, events: 2 },
  },
  'same ids, stream_exists': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const e = [x.event()];
      const a = await x.put(s, e, 'stream_exists'),
        b = await x.put(s, e, 'stream_exists');
      return { same: a.next === b.next && a.at === b.at, events: (await x.got(s)).length };
    },
    answer: { same: true, events: 2 },
  },
  'a prefix of the same ids, no_stream': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event(), x.event(), x.event()];
      const a = await x.put(s, e, 'no_stream'),
        b = await x.put(s, e.slice(0, 2), 'no_stream');
      return [drop(a), drop(b), (await x.got(s)).length];
    },
    answer: [{ next: '2n' }, { next: '1n' }, 3],
  },
  'same first id, other second, no_stream': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event(), x.event()];
      await x.put(s, e, 'no_stream');
      return [await x.put(s, [e[0]!, x.event()], 'no_stream'), (await x.got(s)).length];
    },
    answer: [{ error: 'wrong-expected-version', streamName: '<s>', expected: 'no_stream', actual: '1n' }, 2],
  },
  'same ids and more, exact revision': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event(), x.event()];
      await x.put(s, e, 'no_stream');
      return [await x.put(s, [...e, x.event()], 'no_stream'), (await x.got(s)).length];
    },
    answer: [{ error: 'wrong-expected-version', streamName: '<s>', expected: 'no_stream', actual: '1n' }, 2],
  },
  'same ids and more, any': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event(), x.event()];
      await x.put(s, e, 'any');
      const r = await x.put(s, [...e, x.event()], 'any');
      return [drop(r), (await x.got(s)).length];
    },
    answer: [{ error: 'wrong-expected-version', streamName: '<s>', expected: 'any', actual: '1n' }, 2],
  },
  'new first id then an old one, any': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event()];
      await x.put(s, e, 'any');
      const r = await x.put(s, [x.event(), e[0]!], 'any');
      return [drop(r), (await x.got(s)).length];
    },
    answer: [{ next: '2n' }, 3],
  },
  'id reused in another stream': {
    ask: async (x) => {
      const e = [x.event()];
      return [
        drop(await x.put(x.stream('a'), e, 'no_stream')),
        drop(await x.put(x.stream('b'), e, 'no_stream')),
        (await x.got(x.stream('b'))).length,
      ];
    },
    answer: [{ next: '0n' }, { next: '0n' }, 1],
  },
  'one id twice in one append': {
    ask: async (x) => {
      const s = x.stream();
      const e = x.event();
      const r = await x.put(s, [e, e], 'no_stream');
      return [drop(r), (await x.got(s)).length];
    },
    answer: [{ next: '1n' }, 2],
  },
  '50 writers, no_stream, one winner': {
    ask: async (x) => {
      const s = x.stream();
      const r = await Promise.all(Array.from({ length: 50 }, () => x.put(s, [x.event()], 'no_stream')));
      return {
        won: r.filter((a) => !a.error).length,
        refused: [...new Set(r.filter((a) => a.error).map((a) => a.error))],
        events: (await x.got(s)).length,
      };
    },
    answer: { won: 1, refused: ['wrong-expected-version'], events: 1 },
  },
  '50 writers of the same event, one event': {
    ask: async (x) => {
      const s = x.stream();
      const e = [x.event()];
      const r = await Promise.all(Array.from({ length: 50 }, () => x.put(s, e, 'no_stream'))); // a twin of an append in flight may be left waiting until its deadline; it is never a conflict
      return {
        someAnswered: r.some((a) => !a.error),
        positions: new Set(r.filter((a) => !a.error).map((a) => String(a.at))).size,
        otherRefusals: r.filter((a) => a.error && a.error !== 'deadline-exceeded').length,
        events: (await x.got(s)).length,
      };
    },
    answer: { someAnswered: true, positions: 1, otherRefusals: 0, events: 1 },
  },
};
