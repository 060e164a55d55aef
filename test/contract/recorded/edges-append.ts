import { classic, drop, type Questions } from './asking.ts';

/** Names, sizes and forms at their limits. */
export const edgesAppend: Questions = {
  'append of no events': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [], 'no_stream');
      return [drop(r), await x.got(s)];
    },
    answer: [{ next: '0n' }, { error: 'stream-not-found', streamName: '<s>' }],
  },
  'append of no events to an existing stream': {
    ask: async (x) => {
      const s = x.stream();
      await x.put(s, [x.event(), x.event()], 'no_stream');
      const r = await x.put(s, [], 1n);
      return [drop(r), (await x.got(s)).length];
    },
    answer: [{ next: '1n' }, 2],
  },
  'empty event type': {
    ask: async (x) => {
      const r = await x.put(x.stream(), [x.event({}, { type: '' })], 'no_stream');
      return { refused: Boolean(r.error) };
    },
    answer: { refused: true },
  },
  'empty stream name': {
    ask: async (x) => {
      const r = await x.put('', [x.event()], 'any');
      return { refused: Boolean(r.error) };
    },
    answer: { refused: true },
  },
  'non-ASCII stream name in refusals': {
    ask: async (x) => {
      const s = `${x.stream()}-ünï✓`;
      await x.put(s, [x.event()], 'no_stream');
      const wrong = await x.put(s, [x.event()], 'no_stream');
      await x.client.tombstoneStream(s);
      const dead = await x.put(s, [x.event()], 'any');
      return [wrong, dead, await x.put(s, [x.event()], 'any', classic), await x.got(s)];
    },
    answer: [
      { error: 'wrong-expected-version', streamName: '<s>-ünï✓', expected: 'no_stream', actual: '0n' },
      { error: 'stream-deleted', streamName: '<s>-ünï✓' },
      { error: 'unknown' },
      { error: 'unknown' },
    ],
  },
  'a stream name with spaces, slashes, @ and #': {
    ask: async (x) => {
      const s = `${x.stream()} a/b@c#d?e%20`;
      const r = await x.put(s, [x.event({ i: 0 })], 'no_stream');
      return [drop(r), x.show(await x.got(s))];
    },
    answer: [{ next: '0n' }, [{ type: 'thing-happened', rev: '0n', data: { i: 0 } }]],
  },
  '1 MiB in many events': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(
        s,
        Array.from({ length: 300 }, () => x.event({ p: 'x'.repeat(4096) })),
        'no_stream',
      );
      return r.error ? { error: r.error } : drop(r);
    },
    answer: { error: 'maximum-append-size-exceeded' },
  },
  '900 KiB in one event': {
    ask: async (x) => {
      const s = x.stream();
      const r = await x.put(s, [x.event({ p: 'x'.repeat(900 * 1024) })], 'no_stream');
      return r.error ? { error: r.error } : [drop(r), (await x.got(s)).length];
    },
    answer: [{ next: '0n' }, 1],
  },
};
