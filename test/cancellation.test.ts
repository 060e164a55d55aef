import { describe, expect, test } from 'vitest';
import { type Cancellation, Canceller } from '../src/cancellation.ts';

/** The platform's own, as the oracle. */
const kinds: readonly [string, () => { readonly it: Cancellation; abort(): void }][] = [
  [
    'a Canceller',
    () => {
      const it = new Canceller();
      return { it, abort: () => it.abort() };
    },
  ],
  [
    'an AbortSignal',
    () => {
      const controller = new AbortController();
      return { it: controller.signal, abort: () => controller.abort() };
    },
  ],
];

describe.each(kinds)('%s', (_, make) => {
  test('calls each listener once, in order, and none that has been taken away', () => {
    const { it, abort } = make();
    const heard: string[] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => () => void heard.push(name)) as [
      () => void,
      () => void,
      () => void,
    ];
    for (const each of [a, b, c, a]) it.addEventListener('abort', each);
    it.removeEventListener('abort', b);
    it.removeEventListener('abort', () => {});
    expect(it.aborted).toBe(false);
    abort();
    abort();
    it.addEventListener('abort', b);
    expect(heard).toEqual(['a', 'c']);
  });

  test('has an AbortError for a reason, the same each time, once it is aborted', () => {
    const { it, abort } = make();
    expect(it.reason).toBeUndefined();
    expect(() => it.throwIfAborted()).not.toThrow();
    abort();
    expect(it.aborted).toBe(true);
    expect(it.reason).toMatchObject({ name: 'AbortError', message: 'This operation was aborted' });
    expect(it.reason).toBe(it.reason);
    expect(() => it.throwIfAborted()).toThrow(it.reason as Error);
  });

  test('is aborted when its listeners run, and one of them may take another away', () => {
    const { it, abort } = make();
    const heard: boolean[] = [];
    const second = () => void heard.push(false);
    it.addEventListener('abort', () => {
      heard.push(it.aborted);
      it.removeEventListener('abort', second);
    });
    it.addEventListener('abort', second);
    abort();
    expect(heard).toEqual([true]);
  });
});
