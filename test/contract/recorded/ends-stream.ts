import type { ReadStreamOptions } from '@eventstore/db-client';
import { type Asker, type Questions, signed, unsigned } from './asking.ts';

/** How many of five events a read gives, or the kind of its refusal. */
const counted = async (x: Asker, options: ReadStreamOptions): Promise<unknown> =>
  x.counted(x.client.readStream(await x.streamOf(5), options));

/** Reads of a stream, and appends to one, from the ends of the ranges of revisions and counts. */
export const endsStream: Questions = {
  'backwards from 2^64-1': {
    ask: (x) => counted(x, { direction: 'backwards', fromRevision: unsigned }),
    answer: 5,
  },
  'backwards from 2^63-1': {
    ask: (x) => counted(x, { direction: 'backwards', fromRevision: signed }),
    answer: 5,
  },
  'backwards from beyond its end': {
    ask: (x) => counted(x, { direction: 'backwards', fromRevision: 77n }),
    answer: 5,
  },
  'backwards from 0': {
    ask: (x) => counted(x, { direction: 'backwards', fromRevision: 0n }),
    answer: 1,
  },
  'forwards from 2^64-1': {
    ask: (x) => counted(x, { fromRevision: unsigned }),
    answer: 'unknown',
  },
  'forwards from 2^63-1': {
    ask: (x) => counted(x, { fromRevision: signed }),
    answer: 0,
  },
  'forwards from the end': {
    ask: (x) => counted(x, { fromRevision: 'end' }),
    answer: 'unknown',
  },
  'forwards from beyond its end': {
    ask: (x) => counted(x, { fromRevision: 77n }),
    answer: 0,
  },
  'a count of 0': {
    ask: (x) => counted(x, { maxCount: 0 }),
    answer: 'unknown',
  },
  'an append at the expected revision 2^63-1': {
    ask: async (x) => x.append(await x.streamOf(5), [x.event()], signed),
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: '9223372036854775807n', actual: '4n' },
  },
  'an append at the expected revision 2^64-1': {
    ask: async (x) => x.append(await x.streamOf(5), [x.event()], unsigned),
    answer: { error: 'wrong-expected-version', streamName: '<s>', expected: 'no_stream', actual: '4n' },
  },
  'an append of no events': {
    ask: async (x) => x.append(await x.streamOf(5), [], 'any'),
    answer: { next: '4n' },
  },
  'an append of no events to no stream': {
    ask: (x) => x.append(x.stream(), [], 'any'),
    answer: { next: '0n' },
  },
};
