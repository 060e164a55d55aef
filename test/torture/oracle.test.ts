import { describe, expect, test } from 'vitest';
import { type Found, History, type Operation, type Verdict } from './oracle.ts';

/** A history of three acknowledged appends and one without an answer, and the log that it left. */
function scene() {
  const history = new History();
  const log: Found[] = [];
  let position = 0n;
  const ask = (stream: string, expected: bigint | 'no_stream', ...ids: string[]): Operation =>
    history.ask(
      stream,
      expected,
      ids.map((id) => ({ id, hash: `hash of ${id}` })),
    );
  const land = ({ stream, expected, events }: Operation): void => {
    for (const [i, { id, hash }] of events.entries()) {
      const revision = (expected === 'no_stream' ? 0n : expected + 1n) + BigInt(i);
      position += 10n;
      log.push({ id, hash, stream, revision, position, type: 'kept' });
    }
  };
  const acknowledge = (operation: Operation): void => {
    land(operation);
    const { revision, position: at } = log.at(-1)!;
    history.ok(operation, revision, at);
  };
  acknowledge(ask('a', 'no_stream', '1', '2'));
  acknowledge(ask('b', 'no_stream', '3'));
  acknowledge(ask('a', 1n, '4'));
  const open = ask('b', 0n, '5', '6');
  return { history, log, land, open };
}

const nothing: Verdict = { lost: [], doubled: [], gaps: [], wrong: [] };
const moved = (found: Found, to: Partial<Found>): Found => ({ ...found, ...to });

describe('the oracle', () => {
  test('finds nothing where all is well, whether the append without an answer is there or not', () => {
    const { history, log, land, open } = scene();
    expect(history.check(log)).toEqual(nothing);
    land(open);
    expect(history.check(log)).toEqual(nothing);
  });

  const plants: readonly [what: string, kind: keyof Verdict, plant: (log: Found[]) => Found[]][] = [
    ['an acknowledged append that is not there', 'lost', (log) => log.slice(0, -1)],
    ['an event that is there twice', 'doubled', (log) => [...log, moved(log[0]!, { revision: 3n, position: 99n })]],
    ['a revision that is left out', 'gaps', (log) => [...log.slice(0, -1), moved(log.at(-1)!, { revision: 7n })]],
    ['positions that do not grow', 'wrong', (log) => log.map((each, i) => moved(each, { position: BigInt(50 - i) }))],
    ['other bytes', 'wrong', (log) => [moved(log[0]!, { hash: 'other' }), ...log.slice(1)]],
    ['an event on another stream', 'wrong', (log) => [...log.slice(0, 2), moved(log[2]!, { stream: 'c' }), log[3]!]],
    [
      'an event that nobody wrote',
      'wrong',
      (log) => [...log, { ...log[0]!, id: '7', stream: 'd', revision: 0n, position: 99n }],
    ],
    [
      'half of an append without an answer',
      'wrong',
      (log) => [...log, { id: '5', hash: 'hash of 5', stream: 'b', revision: 1n, position: 99n, type: 'kept' }],
    ],
  ];
  test.each(plants)('finds %s', (_, kind, plant) => {
    const { history, log } = scene();
    expect(history.check(plant(log))[kind]).not.toEqual([]);
  });

  test('finds a refused append that is there all the same', () => {
    const { history, log, land, open } = scene();
    history.fail(open);
    expect(history.check(log)).toEqual(nothing);
    land(open);
    expect(history.check(log).wrong).toEqual(['b@after 0 was refused and is there']);
  });

  test('finds what was asked for later and came before what had been acknowledged', () => {
    const { history, log, open } = scene();
    const early = open.events.map((event, i) => ({ ...event, revision: BigInt(i), stream: 'b', type: 'kept' }));
    const [first, second, third, last] = log as [Found, Found, Found, Found];
    const mixed = [first, second, third, ...early.map((each, i) => ({ ...each, position: 31n + BigInt(i) })), last];
    expect(history.check(mixed).wrong).toContain('b: 32 was asked for after 40 was acknowledged');
  });
});
