// Lane: fast: starts nothing.
import { expect, test } from 'vitest';
import { withAdvice } from '../../src/cli/about-damage.ts';
import { StoreCorrupt } from '../../src/embedded/index.ts';
import { StoreDamaged, StreamDeleted } from '../../src/kernel/store/store.ts';
import { Failure } from '../../src/process/failure.ts';

const advice = 'weir store verify names';
const corrupt = new StoreCorrupt('the page 7');

test.each([
  ['files', corrupt],
  ['what a failure is of', new Failure('It cannot be opened.', 1, corrupt)],
  ['what a server says', new StoreDamaged('Reading it kills the process.')],
  ['what says so itself', new StoreDamaged(`The event store is damaged: x; ${advice} all of it.`)],
])('of damage it is said once what names it: %s', (_, error) => {
  expect(withAdvice(error, error.message).split(advice)).toHaveLength(2);
});

test.each([
  ['a failure', new Failure('There is no key.')],
  ['a stream that was deleted', new StreamDeleted('x')],
])('of %s nothing is said', (_, error) => {
  expect(withAdvice(error, error.message)).toBe(error.message);
});
