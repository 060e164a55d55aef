import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { guarded, isGuarded } from './guarded.ts';

const name = process.env.MUTATED ?? '';
if (!isGuarded(name)) throw new Error(`MUTATED is ${name}, which is none of ${Object.keys(guarded).join(', ')}.`);
const tests: readonly string[] = guarded[name].tests;

class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => tests.findIndex((test) => moduleId.endsWith(test));
    return files.toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: [...tests],
    sequence: { sequencer: InOrder },
    setupFiles: ['test/mutation/setup.ts'],
    // Instrumented, and two at a time; a change that never ends is Stryker's to stop.
    testTimeout: 30_000,
    env: { LIMITS_ATTEMPTS: '1000' },
  },
});
