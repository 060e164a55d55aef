// Lane: rest: it takes minutes
import { test, vi } from 'vitest';
import { agree } from './operations.ts';

vi.setConfig({ testTimeout: 3_600_000 });

const attempts = Number(process.env.LIMITS_ATTEMPTS ?? 100_000);

test(`windows of keys, models, projects and organizations agree with plain lists over ${attempts} attempts, while limits change`, () => {
  agree(attempts);
});
