import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chatCallId, narrowCallId, ownCallId } from '../../src/data/upstream/call-ids.ts';

/** Ids of calls on their way between families: they fit, differ where they differed, and are read back (contract L.5). */

const narrow = /^[A-Za-z0-9_-]{1,64}$/;
const plain = fc.oneof(
  fc.string({ minLength: 1, maxLength: 90 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
  fc.stringMatching(/^[A-Za-z0-9_-]{1,70}$/),
  fc.stringMatching(/^functions\.[a-z_]{1,60}:\d$/),
  fc.stringMatching(/^call_(b64|sha)_[A-Za-z0-9_-]{1,60}$/),
  fc.stringMatching(/^call_sha_[A-Za-z0-9_-]{31}$/),
  fc.constantFrom('\ud800', '\udc00', '\ufffd'),
);
/** And what is made of them, again and again. */
const id = fc
  .tuple(plain, fc.array(fc.constantFrom(narrowCallId, chatCallId, ownCallId), { maxLength: 3 }))
  .map(([first, steps]) => steps.reduce((made, step) => step(made), first));
const ids = fc.tuple(id, id, fc.boolean()).map(([a, b, isMade]) => [a, isMade ? narrowCallId(a) : b] as const);
const runs = { numRuns: 2000 };

describe('an id for messages and responses', () => {
  test('fits', () =>
    fc.assert(
      fc.property(id, (each) => {
        expect(narrowCallId(each)).toMatch(narrow);
      }),
      runs,
    ));

  test('is its own if it fits and does not look like one that was made', () =>
    fc.assert(
      fc.property(
        fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/).filter((each) => !/^call_(b64|sha)_/.test(each)),
        (each) => {
          expect([narrowCallId(each), ownCallId(each)]).toEqual([each, each]);
        },
      ),
      runs,
    ));

  test('is that of no other id', () =>
    fc.assert(
      fc.property(ids, ([a, b]) => {
        expect(narrowCallId(a) === narrowCallId(b)).toBe(a === b);
      }),
      runs,
    ));

  test('is read back, but for digests', () =>
    fc.assert(
      fc.property(id, (each) => {
        const told = narrowCallId(each);
        const isDigest = told.startsWith('call_sha_') && told !== each;
        expect(ownCallId(told)).toBe(isDigest ? told : each);
        if (Buffer.byteLength(each) <= 40 && Buffer.from(each).toString() === each) expect(isDigest).toBe(false);
      }),
      runs,
    ));

  test('stays what it is for a server that takes the same ids', () =>
    fc.assert(
      fc.property(id, (each) => {
        const told = narrowCallId(each);
        if (!told.startsWith('call_sha_')) expect(narrowCallId(ownCallId(told))).toBe(told);
      }),
      runs,
    ));

  test.each([
    ['functions.Bash:0', 'call_b64_ZnVuY3Rpb25zLkJhc2g6MA'],
    ['call_b64_ZnVuY3Rpb25zLkJhc2g6MA', 'call_b64_Y2FsbF9iNjRfWm5WdVkzUnBiMjV6TGtKaGMyZzZNQQ'],
    ['call_b64_!', 'call_b64_Y2FsbF9iNjRfIQ'],
    // Nothing encodes what fits, so these are ids of somebody else.
    ['call_b64_dG9vbHU', 'call_b64_dG9vbHU'],
    ['call_b64_', 'call_b64_'],
    ['.'.repeat(41), `call_b64_${'Li4u'.repeat(13)}Li4`],
  ])('is told of %s', (each, told) => {
    expect(told).toMatch(narrow);

    expect(narrowCallId(each)).toBe(told);
  });
});

describe('an id for chat completions', () => {
  test('has at most 40 characters, and is its own up to there', () =>
    fc.assert(
      fc.property(id, (each) => {
        const sent = chatCallId(each);
        expect(sent.length).toBeLessThanOrEqual(40);
        if (each.length <= 40 && !each.startsWith('call_sha_')) expect(sent).toBe(each);
      }),
      runs,
    ));

  test('is that of no other id', () =>
    fc.assert(
      fc.property(fc.tuple(id, id, fc.boolean()), ([a, b, isMade]) => {
        const other = isMade ? chatCallId(a) : b;
        expect(chatCallId(a) === chatCallId(other)).toBe(a === other);
      }),
      runs,
    ));
});
