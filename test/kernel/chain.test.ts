import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptStream } from '../../src/kernel/aggregate/fold.ts';
import { actors, type Context } from '../../src/kernel/commands/actor.ts';
import { canonicalEvent, hashOf, leafHash, NoCanonicalForm, ordered } from '../../src/kernel/store/event-hash.ts';
import type { Metadata, NewEvent, Recorded } from '../../src/kernel/store/store.ts';
import { memoryStore } from '../support/memory-store.ts';
import { me, opened, refusal, stage, stream } from './stage.ts';
import { ticket } from './ticket.ts';

const links = (log: readonly Recorded[]) => log.map(({ metadata }) => metadata.prev);

/** The stream as somebody has left it who can write to the store as he likes. */
const rewritten = (log: readonly Recorded[], change: (events: NewEvent[]) => NewEvent[]) => {
  const store = memoryStore();
  store.plantAsIs(stream, change(log.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }))));
  return actors(ticket, { store }).dispatch('tic_1', 'park', undefined, me);
};

const written = async () => {
  const { store, tickets } = await opened();
  await tickets.dispatch('tic_1', 'work', { hours: [1, 2] }, me);
  await tickets.dispatch('tic_1', 'work', { hours: [3] }, me);
  return store.log;
};

describe('the chain of a stream', () => {
  test('each event but the first names the hash of the one before, also of one command', async () => {
    const log = await written();
    expect(links(log)).toEqual([undefined, ...log.slice(0, -1).map(hashOf)]);
  });

  test('goes on behind what another process has written, and after everything was forgotten', async () => {
    const { store, tickets } = await opened();
    await actors(ticket, { store }).dispatch('tic_1', 'work', { hours: [1] }, me);
    await tickets.dispatch('tic_1', 'work', { hours: [2] }, me);
    tickets.forget();
    await tickets.dispatch('tic_1', 'work', { hours: [3] }, me);
    expect(links(store.log)).toEqual([undefined, ...store.log.slice(0, -1).map(hashOf)]);
  });

  test('goes on behind a command that two processes have sent, whose events are the one’s or the other’s', async () => {
    const store = memoryStore();
    const at = (now: number) => actors(ticket, { store, clock: { wall: () => now, monotonic: () => 0 } });
    const [one, other] = [at(1), at(2)];
    await one.dispatch('tic_1', 'open', { title: 'a' }, me);
    await other.dispatch('tic_1', 'top', { upTo: 0 }, me);
    const shared: Context = { ...me, commandId: 'cmd' };
    await one.dispatch('tic_1', 'work', { hours: [1] }, shared);
    await other.dispatch('tic_1', 'work', { hours: [1] }, shared);
    await other.dispatch('tic_1', 'work', { hours: [2] }, me);
    expect(store.log.map(({ metadata }) => metadata.at)).toEqual([1, 1, 2]);
    expect(links(store.log)).toEqual([undefined, ...store.log.slice(0, -1).map(hashOf)]);
  });

  const edits: Record<string, readonly [change: (events: NewEvent[]) => NewEvent[], says: RegExp]> = {
    'edited data': [
      (events) => events.map((event, i) => (i === 1 ? { ...event, data: { hours: 9 } } : event)),
      /corrupt at revision 2 \(ticket.worked\): it was not written behind what revision 1 holds now/,
    ],
    'an edited actor': [
      (events) =>
        events.map((event, i) =>
          i === 2 ? { ...event, metadata: { ...event.metadata, actor: { type: 'system', id: 'x' } } } : event,
        ),
      /corrupt at revision 3/,
    ],
    'another first event': [
      (events) => events.map((event, i) => (i === 0 ? { ...event, data: { title: 'b' } } : event)),
      /corrupt at revision 1 .*behind what revision 0 holds now/,
    ],
    'an event less': [(events) => events.toSpliced(1, 1), /corrupt at revision 1/],
    'an event more': [(events) => events.toSpliced(1, 0, { ...events[1]!, id: 'x' }), /corrupt at revision 2/],
    'two in the other order': [(events) => [events[0]!, events[2]!, events[1]!, events[3]!], /corrupt at revision 1/],
    'no names at all': [
      (events) => events.map(({ metadata: { prev: _, ...metadata }, ...event }) => ({ ...event, metadata })),
      /corrupt at revision 1/,
    ],
    'a first event that names one before it': [
      (events) => events.map((event) => ({ ...event, metadata: { ...event.metadata, prev: leafHash('') } })),
      /corrupt at revision 0 \(ticket.opened\): it was not written behind nothing/,
    ],
  };
  for (const [name, [change, says]] of Object.entries(edits)) {
    test(`shows ${name}`, async () => {
      const error = await refusal(rewritten(await written(), change));
      expect(error).toBeInstanceOf(CorruptStream);
      expect(String(error)).toMatch(says);
    });
  }

  test('holds where nothing was changed', async () => {
    expect(await rewritten(await written(), (events) => events)).toMatchObject({ revision: 4 });
  });
});

describe('the canonical form', () => {
  test('is RFC 8785: sorted names, and numbers and strings as it says', () => {
    const event = {
      stream: 'ticket-tic_1',
      revision: 2,
      id: 'e',
      type: 'ticket.worked',
      data: { ö: '\u20ac$\u000f\nA\'B"\\', b: [1e21, 4.5, 2e-3, 1e-27, -0], a: undefined },
      metadata: { v: 1, at: 5, actor: { type: 'system', id: 'weir' }, $correlationId: 'c', $causationId: 'd' },
    } as const;
    expect(canonicalEvent(event)).toBe(
      '{"data":{"b":[1e+21,4.5,0.002,1e-27,0],"ö":"€$\\u000f\\nA\'B\\"\\\\"},"id":"e","metadata":{"$causationId":"d",' +
        '"$correlationId":"c","actor":{"id":"weir","type":"system"},"at":5,"v":1},"revision":2,' +
        '"stream":"ticket-tic_1","type":"ticket.worked"}',
    );
  });

  test('is that of the library, whatever the order of the names', () => {
    const event = { stream: 'ticket-tic_1', revision: 0, id: 'e', type: 't', metadata: {} as Metadata };
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (data) => {
        const wanted = canonicalize({ ...event, data });
        expect(canonicalEvent({ ...event, data })).toBe(wanted);
        expect(canonicalEvent({ ...event, data: ordered(data) })).toBe(wanted);
      }),
      { numRuns: 1000 },
    );
    for (const data of [
      { 10: 1, 9: 2 },
      { b: { 2: 1, 10: 2 } },
      { a: [{ d: 1, c: 2 }] },
      { '\ufb33': 1, '\u{1f600}': 2 },
    ]) {
      expect(canonicalEvent({ ...event, data })).toBe(canonicalize({ ...event, data }));
    }
  });

  test('is of nothing that JSON can hold and RFC 8785 cannot: a number beyond a double, half a character', () => {
    const event = { stream: 'ticket-tic_1', revision: 0, id: 'e', type: 't', metadata: {} as Metadata };
    for (const text of [
      '{"n":1e999}',
      '{"b":[{"n":-1e999}],"a":1}',
      '{"s":"\\ud800"}',
      '{"\\udc00":1}',
      '{"10":1,"9":1e999}',
    ]) {
      const data = JSON.parse(text) as Recorded['data'];
      expect(() => canonicalEvent({ ...event, data }), text).toThrow(NoCanonicalForm);
      expect(() => canonicalEvent({ ...event, data: {}, metadata: data as unknown as Metadata }), text).toThrow(
        NoCanonicalForm,
      );
    }
  });

  test('is of nothing with more than 128 levels, whatever the order of its names', () => {
    const event = { stream: 'ticket-tic_1', revision: 0, id: 'e', type: 't', metadata: {} as Metadata };
    // Bottom-most an empty list; names in order, out of order in every object, and those that are numbers.
    for (const [open, shut, isList] of [
      ['{"a":', '}'],
      ['{"b":1,"a":', '}'],
      ['{"10":1,"9":', '}'],
      ['[', ']', true],
    ] as const) {
      const of = (levels: number): Recorded['data'] => {
        const inner = isList ? levels - 2 : levels - 1;
        const text = `${open.repeat(inner)}[]${shut.repeat(inner)}`;
        return JSON.parse(isList ? `{"a":${text}}` : text) as Recorded['data'];
      };
      for (const levels of [127, 128])
        expect(canonicalEvent({ ...event, data: of(levels) })).toBe(canonicalize({ ...event, data: of(levels) }));
      for (const levels of [129, 10_000]) {
        expect(() => canonicalEvent({ ...event, data: of(levels) })).toThrow(NoCanonicalForm);
        const metadata = of(levels) as unknown as Metadata;
        expect(() => canonicalEvent({ ...event, data: {}, metadata })).toThrow(NoCanonicalForm);
      }
    }
  });

  test('is the same of what was written and of what is read back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), async (data) => {
        const store = memoryStore();
        const metadata = { at: 0, actor: me.actor, $correlationId: 'c', $causationId: 'c', v: 1 };
        const event = { id: 'e', type: 'ticket.opened', data, metadata };
        const [read] = store.plantAsIs(stream, [event]);
        expect(hashOf(read!)).toBe(hashOf({ ...event, stream, revision: 0 }));
      }),
    );
  });

  test('the hash is that of an RFC 6962 leaf', () => {
    // The leaf of no data, of RFC 6962's own test vectors.
    expect(Buffer.from(leafHash(''), 'base64').toString('hex')).toBe(
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    );
  });

  test('a place in the global order is no part of it', () => {
    const { store } = stage();
    const metadata = { at: 0, actor: me.actor, $correlationId: 'c', $causationId: 'c', v: 1 };
    const [one] = store.plantAsIs(stream, [{ id: 'e', type: 'ticket.opened', data: {}, metadata }]);
    expect(hashOf({ ...one!, ...{ position: 7n } })).toBe(hashOf(one!));
  });
});
