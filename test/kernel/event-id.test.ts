import { describe, expect, test } from 'vitest';
import { eventId } from '../../src/kernel/store/event-id.ts';

describe('eventId', () => {
  const of = (over: Partial<Record<'command' | 'stream' | 'type', string>> & { index?: number; data?: object } = {}) =>
    eventId(over.command ?? 'c', over.index ?? 0, over.stream ?? 's-1', over.type ?? 't', over.data ?? { a: 1, b: 2 });

  test('is a UUID of version 5 and never changes', () => {
    expect(of()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(of({ data: { b: 2, a: 1 } })).toBe(of());
    expect(of()).toBe('57c93008-40d2-5a03-a23b-8c082c9412b4');
  });

  test('differs with everything that goes in', () => {
    const ids = [
      of(),
      of({ command: 'd' }),
      of({ index: 1 }),
      of({ stream: 's-2' }),
      of({ type: 'u' }),
      of({ data: { a: 1, b: 3 } }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
