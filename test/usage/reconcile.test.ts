import { describe, expect, test } from 'vitest';
import { reconcile } from '../../src/usage/reconcile.ts';
import { settlement } from './some-request.ts';

const line = (request_id: string, input_tokens = 10, output_tokens = 5) => ({
  request_id,
  input_tokens,
  output_tokens,
});
const gist = (ledger: Parameters<typeof reconcile>[0], ours: Parameters<typeof reconcile>[1]) => {
  const { requests, equal, differences } = reconcile(ledger, ours);
  return [requests, equal, ...differences.map(({ request_id, kind }) => `${request_id} ${kind}`)];
};

describe('two lists', () => {
  test('that say the same have no differences', () => {
    expect(gist([line('a'), line('b')], [settlement('b'), settlement('a')])).toEqual([2, 2]);
  });

  test.each([
    ['a request that we have not', [line('a')], [], [1, 0, 'a missing']],
    ['one that the upstream does not know', [], [settlement('a')], [0, 0, 'a unknown']],
    ['one more token', [line('a', 11)], [settlement('a')], [1, 0, 'a tokens']],
    ['one token less', [line('a', 10, 4)], [settlement('a')], [1, 0, 'a tokens']],
    ['one that is settled twice', [line('a')], [settlement('a'), settlement('a')], [1, 1, 'a twice']],
    [
      'one that we have estimated',
      [line('a', 9)],
      [settlement('a', { usage_source: 'partial' })],
      [1, 0, 'a estimated'],
    ],
    ['one that we have estimated rightly', [line('a')], [settlement('a', { usage_source: 'estimated' })], [1, 1]],
    [
      'an estimate of what the upstream never saw',
      [],
      [settlement('a', { usage_source: 'estimated' })],
      [0, 0, 'a estimated'],
    ],
    [
      'what failed before it cost anything',
      [],
      [settlement('a', { usage_source: 'estimated', input_tokens: 0, output_tokens: 0 })],
      [0, 0],
    ],
    ['a second question, of which we know', [line('a', 3, 0), line('a')], [settlement('a')], [1, 0, 'a repeated']],
    ['a second question that was for nothing', [line('a', 0, 0), line('a')], [settlement('a')], [1, 1]],
    ['two questions of which we know neither', [line('a', 3), line('a', 4)], [settlement('a')], [1, 0, 'a tokens']],
    ['a kind that the upstream does not count', [{ request_id: 'a' }], [settlement('a')], [1, 1]],
  ])('of %s', (_, ledger, ours, expected) => {
    expect(gist(ledger, ours)).toEqual(expected);
  });

  test('name what differs, by the ids in their order', () => {
    const ledger = [{ ...line('b', 11), cache_read_input_tokens: 2 }, line('a')];
    expect(reconcile(ledger, [settlement('b')]).differences).toEqual([
      { request_id: 'a', kind: 'missing', ours: {}, theirs: { input_tokens: 10, output_tokens: 5 } },
      {
        request_id: 'b',
        kind: 'tokens',
        ours: { input_tokens: 10, cache_read_input_tokens: 0 },
        theirs: { input_tokens: 11, cache_read_input_tokens: 2 },
      },
    ]);
  });
});
