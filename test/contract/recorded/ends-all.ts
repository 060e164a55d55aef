import { type ReadAllOptions, streamNameFilter } from '@eventstore/db-client';
import { collect } from '../events.ts';
import { type Asker, beyondHead, headOf, type Questions, signed, unsigned } from './asking.ts';

const backwards = { direction: 'backwards' } as const;
const both = (commit: bigint) => ({ commit, prepare: commit });

/** Whether records come, or the kind of the refusal. */
const some = async (x: Asker, options: ReadAllOptions & { filter?: object }): Promise<unknown> => {
  const told = await x.counted(x.client.readAll({ maxCount: 3, ...options }));
  return typeof told === 'number' ? (told === 0 ? 'nothing' : 'records') : told;
};

/** As above, with five events in the log at least. */
const someOf = async (x: Asker, options: ReadAllOptions): Promise<unknown> => {
  await x.streamOf(5);
  return some(x, options);
};

/** A position between two of five events. */
const within = async (x: Asker) => both((await x.read(await x.streamOf(5)))[2]!.event!.position!.commit + 1n);

/** Reads of $all from the ends of the range of positions. */
export const endsAll: Questions = {
  'backwards from 2^64-1': {
    ask: (x) => someOf(x, { ...backwards, fromPosition: both(unsigned) }),
    answer: 'records',
  },
  'backwards from 2^63-1': {
    ask: (x) => someOf(x, { ...backwards, fromPosition: both(signed) }),
    answer: 'unknown',
  },
  'backwards from 2^64-1, commit alone': {
    ask: (x) => someOf(x, { ...backwards, fromPosition: { commit: unsigned, prepare: 0n } }),
    answer: 'unknown',
  },
  'backwards from 0': {
    ask: (x) => someOf(x, { ...backwards, fromPosition: both(0n) }),
    answer: 'nothing',
  },
  'backwards from the position of an event leaves it out': {
    ask: async (x) => {
      const last = (await x.read(await x.streamOf(5))).at(-1)!.event!;
      const [before] = await collect(x.client.readAll({ ...backwards, fromPosition: last.position!, maxCount: 1 }));
      return before!.event!.revision === 3n;
    },
    answer: true,
  },
  'backwards from 1,000,000 beyond the head': {
    ask: async (x) => {
      await x.streamOf(5);
      return beyondHead(x, (from) => some(x, { ...backwards, fromPosition: both(from) }));
    },
    answer: 'unknown',
  },
  'backwards from one beyond the head': {
    ask: async (x) => {
      await x.streamOf(5);
      return some(x, { ...backwards, fromPosition: both((await headOf(x)).commit + 1n) });
    },
    answer: 'unknown',
  },
  'backwards from the middle of a record': {
    ask: async (x) => some(x, { ...backwards, fromPosition: await within(x) }),
    answer: 'unknown',
  },
  'backwards, filtered, from 2^64-1': {
    ask: async (x) => {
      const filter = streamNameFilter({ prefixes: [await x.streamOf(5)] });
      return some(x, { ...backwards, fromPosition: both(unsigned), filter });
    },
    answer: 'records',
  },
  'forwards from 2^64-1': {
    ask: (x) => someOf(x, { fromPosition: both(unsigned) }),
    answer: 'nothing',
  },
  'forwards from 2^63-1': {
    ask: (x) => someOf(x, { fromPosition: both(signed) }),
    answer: 'nothing',
  },
  'forwards from 1,000,000 beyond the head': {
    ask: async (x) => {
      await x.streamOf(5);
      return beyondHead(x, (from) => some(x, { fromPosition: both(from) }));
    },
    answer: 'nothing',
  },
  'forwards from the middle of a record': {
    ask: async (x) => some(x, { fromPosition: await within(x) }),
    answer: 'unknown',
  },
  'forwards from the head, prepare 0': {
    ask: async (x) => {
      await x.streamOf(5);
      return some(x, { fromPosition: { commit: (await headOf(x)).commit, prepare: 0n } });
    },
    answer: 'records',
  },
  'forwards, filtered, from the end': {
    ask: async (x) => {
      const filter = streamNameFilter({ prefixes: [await x.streamOf(5)] });
      return some(x, { fromPosition: 'end', filter });
    },
    answer: 'nothing',
  },
};
