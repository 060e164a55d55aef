import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ChangeList } from '../../src/limits/window/change-list.ts';

test('a list of changes is a queue in which every slot stands once', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(3_000), fc.constant(-1)), { size: 'max', maxLength: 6_000 }), (steps) => {
      const list = new ChangeList();
      const model: number[] = [];
      const waiting = new Set<number>();
      for (const slot of steps) {
        if (slot < 0) {
          const next = model.shift() ?? -1;
          waiting.delete(next);
          expect(list.take()).toBe(next);
        } else {
          list.add(slot);
          if (!waiting.has(slot)) model.push(slot);
          waiting.add(slot);
        }
        expect(list.length).toBe(model.length);
      }
    }),
    { numRuns: 30 },
  );
});
