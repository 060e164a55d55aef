import { classic, type Questions } from './asking.ts';

const wrongVersion = (expected: number, actual: number) => [
  'wrong-expected-version',
  `9 FAILED_PRECONDITION: Delete failed due to WrongExpectedVersion. Stream: <s>, Expected version: ${expected}, Actual version: ${actual}`,
];
const deleted = ['stream-deleted', "9 FAILED_PRECONDITION: Event stream '<s>' is deleted."];

/** The words of refusals, which clients match. */
export const words: Questions = {
  'delete at a wrong revision': {
    ask: async (x) => x.words(x.client.deleteStream(await x.streamOf(2), { expectedRevision: 9n })),
    answer: wrongVersion(9, 1),
  },
  'delete with no_stream on a stream': {
    ask: async (x) => x.words(x.client.deleteStream(await x.streamOf(2), { expectedRevision: 'no_stream' })),
    answer: wrongVersion(-1, 1),
  },
  'delete of a missing stream': {
    ask: (x) => x.words(x.client.deleteStream(x.stream(), { expectedRevision: 'any' })),
    answer: wrongVersion(-2, -1),
  },
  'tombstone at a wrong revision': {
    ask: async (x) => x.words(x.client.tombstoneStream(await x.streamOf(2), { expectedRevision: 9n })),
    answer: wrongVersion(9, 1),
  },
  'delete of a tombstoned stream': {
    ask: async (x) => {
      const name = await x.streamOf(1);
      await x.client.tombstoneStream(name);
      return x.words(x.client.deleteStream(name));
    },
    answer: deleted,
  },
  'read of a tombstoned stream': {
    ask: async (x) => {
      const name = await x.streamOf(1);
      await x.client.tombstoneStream(name);
      return x.words(x.read(name));
    },
    answer: deleted,
  },
  'classic append to a tombstoned stream': {
    ask: async (x) => {
      const name = await x.streamOf(1);
      await x.client.tombstoneStream(name);
      return x.words(x.client.appendToStream(name, [x.event()], classic));
    },
    answer: deleted,
  },
  'classic append that is too large': {
    ask: (x) => x.words(x.client.appendToStream(x.stream(), [x.event({ p: 'x'.repeat(1_200_000) })], classic)),
    answer: ['maximum-append-size-exceeded', '3 INVALID_ARGUMENT: Maximum Append Size of 1048576 Exceeded.'],
  },
};
