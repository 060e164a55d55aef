import { test, vi } from 'vitest';
import { agree } from './operations.ts';

vi.setConfig({ testTimeout: 600_000 });

test('agree with plain lists over any history: admissions, waits, headers, inspections, memory', () => {
  agree(Number(process.env.LIMITS_ATTEMPTS ?? 10_000));
});
