import { expect, test } from 'vitest';
import { runScenarios } from '../../bench/session.ts';
import type { StageSettings } from '../../bench/stage.ts';

const settings = { rounds: 5, seconds: 1, warmup: 0, seed: 1, others: [], otherKey: null } as unknown as StageSettings;

test('a run that was interrupted before it had measured anything is INVALID, and one that has counted is not', async () => {
  for (const truth of [[], [{ window: 'a', limit: 1 }]]) {
    const interruption = new AbortController();
    const { interrupted, scenarios } = await runScenarios(
      [
        {
          id: 'cut',
          title: 'Cut',
          about: [],
          isElsewhere: true,
          async run() {
            interruption.abort();
            return { measured: [], truth: truth as never };
          },
        },
      ],
      { interrupted: interruption.signal, undo: [], say: () => {}, tell: () => {}, command: 'test' },
      settings,
    );
    expect(interrupted).toBe(true);
    expect(scenarios[0]!.verdict).toEqual(
      truth.length === 0
        ? expect.objectContaining({ is: 'INVALID', invalid: ['it was interrupted before it had measured anything'] })
        : expect.objectContaining({ is: 'VALID' }),
    );
  }
});
