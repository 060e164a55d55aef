import type { Questions } from './asking.ts';

/** Reads of a stream and of $all. */
export const reads: Questions = {
  'missing stream': {
    ask: async (x) => x.got(x.stream()),
    answer: { error: 'stream-not-found', streamName: '<s>' },
  },
  'forwards from 2, max 2': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(
        s,
        Array.from({ length: 6 }, (_, i) => x.event({ i })),
        'no_stream',
      );
      return x.show(await x.got(s, { fromRevision: 2n, maxCount: 2 }));
    },
    answer: [
      { type: 'thing-happened', rev: '2n', data: { i: 2 } },
      { type: 'thing-happened', rev: '3n', data: { i: 3 } },
    ],
  },
  'backwards from end, max 2': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(
        s,
        Array.from({ length: 4 }, (_, i) => x.event({ i })),
        'no_stream',
      );
      return x.show(await x.got(s, { direction: 'backwards', fromRevision: 'end', maxCount: 2 }));
    },
    answer: [
      { type: 'thing-happened', rev: '3n', data: { i: 3 } },
      { type: 'thing-happened', rev: '2n', data: { i: 2 } },
    ],
  },
  'backwards from 1': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(
        s,
        Array.from({ length: 4 }, (_, i) => x.event({ i })),
        'no_stream',
      );
      return x.show(await x.got(s, { direction: 'backwards', fromRevision: 1n }));
    },
    answer: [
      { type: 'thing-happened', rev: '1n', data: { i: 1 } },
      { type: 'thing-happened', rev: '0n', data: { i: 0 } },
    ],
  },
  'forwards past the end': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      return x.show(await x.got(s, { fromRevision: 9n }));
    },
    answer: [],
  },
  'backwards from past the end': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      return x.show(await x.got(s, { direction: 'backwards', fromRevision: 9n }));
    },
    answer: [
      { type: 'thing-happened', rev: '1n', data: { i: 1 } },
      { type: 'thing-happened', rev: '0n', data: { i: 0 } },
    ],
  },
  'forwards from END': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event()], 'no_stream');
      const r = await x.got(s, { fromRevision: 'end' });
      return Array.isArray(r) ? x.show(r) : { error: true };
    },
    answer: { error: true },
  },
  'backwards from START': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      return x.show(await x.got(s, { direction: 'backwards', fromRevision: 'start' }));
    },
    answer: [{ type: 'thing-happened', rev: '0n', data: { i: 0 } }],
  },
  '2,500 events in order': {
    ask: async (x) => {
      const s = x.stream();
      for (let b = 0; b < 5; b++)
        await x.put(
          s,
          Array.from({ length: 500 }, (_, i) => x.event({ i: b * 500 + i })),
          b ? BigInt(b * 500 - 1) : 'no_stream',
        );
      const r = await x.got(s);
      return r.length === 2500 && r.every((e, i) => e.event.data.i === i && e.event.revision === BigInt(i));
    },
    answer: true,
  },
  'forwards from a position is inclusive': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event({ mark: 1 })], 'no_stream');
      const out = await x.gotAll({ fromPosition: { commit: r.at, prepare: r.at }, maxCount: 1 });
      return out[0].event.streamId === s;
    },
    answer: true,
  },
  'backwards from a position is exclusive': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event({ mark: 1 })], 'no_stream');
      const out = await x.gotAll({
        direction: 'backwards',
        fromPosition: { commit: r.at, prepare: r.at },
        maxCount: 1,
      });
      return out[0]?.event.streamId !== s && (out[0]?.event.position?.commit ?? 0n) < r.at;
    },
    answer: true,
  },
  'backwards from end starts with the newest': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event({ last: true })], 'no_stream');
      const out = await x.gotAll({ direction: 'backwards', fromPosition: 'end', maxCount: 20 });
      return (
        out.findIndex((r) => r.event.streamId === s && r.event.data.last) <
        out.findIndex((r) => r.event.streamId === s && !r.event.data.last)
      );
    },
    answer: true,
  },
  'a position between records': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event()], 'no_stream');
      for (let i = 0; i < 3; i++) await x.put(s, [x.event()], BigInt(i));
      const out = await x.gotAll({ fromPosition: { commit: r.at + 1n, prepare: r.at + 1n }, maxCount: 1 });
      return Array.isArray(out) ? { answered: true } : { refused: true };
    },
    answer: { refused: true },
  },
};
