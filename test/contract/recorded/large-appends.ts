import { classic, type Questions } from './asking.ts';

/** Longer than the client waits by itself: a machine under load takes its time. */
const patient = { deadline: 20_000 };

/** How large an append may be, and what is checked first. */
export const largeAppends: Questions = {
  '10,001 events': {
    ask: (x) => x.append(x.stream(), x.events(10_001), 'no_stream', patient),
    answer: { next: '10000n' },
  },
  '20,000 events, classic': {
    ask: (x) => x.append(x.stream(), x.events(20_000), 'no_stream', { ...classic, ...patient }),
    answer: { next: '19999n' },
  },
  'too large and a wrong version': {
    ask: async (x) => x.append(await x.streamOf(1), [x.event({ p: 'x'.repeat(1_500_000) })], 77n),
    answer: { error: 'maximum-append-size-exceeded', max: 1_048_576 },
  },
  'too large and past its deadline': {
    ask: (x) => x.append(x.stream(), [x.event({ p: 'x'.repeat(1_500_000) })], 'no_stream', { deadline: 1 }),
    answer: { error: 'deadline-exceeded' },
  },
  'the same id twice in one call': {
    ask: async (x) => {
      const name = x.stream();
      const { id } = x.event();
      const answer = await x.append(name, [x.event({ i: 0 }, { id }), x.event({ i: 1 }, { id })], 'no_stream');
      return [answer, await x.shown(name)];
    },
    answer: [
      { next: '1n' },
      [
        { type: 'thing-happened', rev: '0n', data: { i: 0 } },
        { type: 'thing-happened', rev: '1n', data: { i: 1 } },
      ],
    ],
  },
  'the same id in another stream': {
    ask: async (x) => {
      const event = x.event();
      return [await x.append(x.stream('a'), [event], 'any'), await x.append(x.stream('b'), [event], 'any')];
    },
    answer: [{ next: '0n' }, { next: '0n' }],
  },
};
