import type { Questions } from './asking.ts';

/** Soft deletes of streams that have metadata and no event. */
export const metadataOnly: Questions = {
  'delete with no_stream': {
    ask: async (x) => {
      const name = x.stream();
      await x.client.setStreamMetadata(name, { maxCount: 3 });
      return [
        await x.outcome(x.client.deleteStream(name, { expectedRevision: 'no_stream' })),
        await x.shown(name),
        await x.append(name, [x.event()], 'no_stream'),
        (await x.client.getStreamMetadata(name)).metadata,
      ];
    },
    answer: ['accepted', { error: 'stream-not-found', streamName: '<s>' }, { next: '0n' }, { truncateBefore: 0 }],
  },
  'delete with any': {
    ask: async (x) => {
      const name = x.stream();
      await x.client.setStreamMetadata(name, { maxCount: 3 });
      return [
        await x.outcome(x.client.deleteStream(name, { expectedRevision: 'any' })),
        (await x.client.getStreamMetadata(name)).metadata,
      ];
    },
    answer: ['accepted', { truncateBefore: 2 ** 63 }],
  },
  'delete at revision 0': {
    ask: async (x) => {
      const name = x.stream();
      await x.client.setStreamMetadata(name, { maxCount: 3 });
      return x.outcome(x.client.deleteStream(name, { expectedRevision: 0n }));
    },
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: '0n', actual: '-1n' },
  },
  'the revision of a metastream has a type': {
    ask: async (x) => {
      const name = x.stream();
      await x.client.setStreamMetadata(name, { maxCount: 3 });
      await x.client.setStreamMetadata(name, { maxCount: 4 });
      return typeof (await x.client.getStreamMetadata(name)).metastreamRevision;
    },
    answer: 'bigint',
  },
};
