import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { guarded } from './guarded.ts';
import { percent, scoreOf } from './report.ts';

const mutant = (status: string, line = 1) => ({
  status,
  mutatorName: 'BooleanLiteral',
  replacement: 'true\n  && false',
  location: { start: { line, column: 5 } },
});
const reportOf = (statuses: readonly string[]): { files: Record<string, { mutants: unknown[] }> } => {
  const [first, ...others] = guarded.idempotency.modules;
  return {
    files: {
      [first]: { mutants: statuses.map((status, n) => mutant(status, n + 1)) },
      ...Object.fromEntries(others.map((module) => [module, { mutants: [] }])),
    },
  };
};

describe('a score', () => {
  test('counts what ran out of time as noticed, what no test reaches as not, and what was not tried as nothing', () => {
    const statuses = ['Killed', 'Timeout', 'Survived', 'NoCoverage', 'Ignored', 'CompileError'];
    const score = scoreOf(reportOf(statuses), 'idempotency');
    const [first] = guarded.idempotency.modules;
    expect(score).toEqual({
      name: 'idempotency',
      mutants: 4,
      noticed: 2,
      survived: [3, 4].map((line) => `${first}:${line}:5 BooleanLiteral true && false`),
    });
    expect(percent(score)).toBe(50);
  });
  test('of nothing is no score to pass with', () => {
    expect(percent(scoreOf(reportOf([]), 'idempotency'))).toBe(0);
  });
  test('needs every module in the report', () => {
    const { files } = reportOf(['Killed']);
    delete files[guarded.idempotency.modules[1]];
    expect(() => scoreOf({ files }, 'idempotency')).toThrow(guarded.idempotency.modules[1]);
  });
});

test('the guarded modules and their tests are there', () => {
  for (const { modules, tests } of Object.values(guarded))
    for (const file of [...modules, ...tests]) expect(existsSync(file), file).toBe(true);
});
