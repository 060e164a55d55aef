import { type Asker, beyondHead, type Questions, type Told, unsigned } from './asking.ts';

const kinds = (seen: Told[]): unknown[] => seen.map((each) => each.error ?? each.is);
const isEventOrRefusal = (each: Told): boolean => each.is === 'event' || each.error !== undefined;

/** What comes first of $all, by its kind. */
const all = async (x: Asker, commit: bigint): Promise<unknown[]> => {
  const subscription = x.client.subscribeToAll({ fromPosition: { commit, prepare: commit } });
  return kinds(await x.heard(subscription, (o) => o.some((each) => each.is === 'caughtUp' || isEventOrRefusal(each))));
};

/** Subscriptions from the ends of the ranges of positions and revisions. */
export const endsSubscribe: Questions = {
  'to all from 2^64-1': {
    ask: async (x) => {
      await x.streamOf(5);
      return all(x, unsigned);
    },
    answer: ['confirmation', 'caughtUp'],
  },
  'to all from 1,000,000 beyond the head': {
    ask: async (x) => {
      await x.streamOf(5);
      return beyondHead(x, (from) => all(x, from));
    },
    answer: ['confirmation', 'caughtUp'],
  },
  'to all from the middle of a record': {
    ask: async (x) => all(x, (await x.read(await x.streamOf(5)))[2]!.event!.position!.commit + 1n),
    answer: ['confirmation', 'unknown'],
  },
  'to a stream from 2^64-1': {
    ask: async (x) => {
      const subscription = x.client.subscribeToStream(await x.streamOf(5), { fromRevision: unsigned });
      return kinds(await x.heard(subscription, (o) => o.some(isEventOrRefusal), 1500));
    },
    answer: ['confirmation', 'caughtUp', 'time-up'],
  },
  'to a stream from beyond its end, then events': {
    ask: async (x) => {
      const name = await x.streamOf(5);
      const subscription = x.client.subscribeToStream(name, { fromRevision: 6n });
      subscription.once('caughtUp', () => void x.put(name, x.events(4), 'any'));
      const seen = await x.heard(subscription, (o) => o.some(isEventOrRefusal));
      return seen.map((each) => (each.is === 'event' ? each.rev : (each.error ?? each.is)));
    },
    answer: ['confirmation', 'caughtUp', '7n'],
  },
};
