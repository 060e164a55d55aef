import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Files that start processes, by the folder: each runs in a process of its own too, which leaves none of them behind. */
const withProcesses = ['cli', 'contract', 'deploy', 'e2e', 'embedded', 'eventstoredb', 'planted', 'torture', 'upgrade'];

/** Each has a process of its own as well: it puts others in the place of modules, or in the way of every test. */
const particular = [
  'test/admin/page-cost.test.ts',
  'test/access/authenticate.test.ts',
  'test/kernel/full-disk.test.ts',
  'test/limits/snapshot-files.test.ts',
  'test/limits/upkeep.test.ts',
];

/** What takes longest, longest first: begun last, one of them would run while the other cores have nothing to do. */
const slowest = [
  'e2e/clients/clients',
  'e2e/schemathesis',
  'torture/disk',
  'torture/traffic',
  'torture/gateway',
  'e2e/cluster',
  'cli/store',
  'contract/life',
  'e2e/archive',
  'e2e/full-disk',
  'e2e/discovery',
].map((name) => `/test/${name}.test.ts`);

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Files that share processes come last, together: a process is handed on from one of them to the next.
    const place = ({ moduleId, project }: TestSpecification): number => {
      const at = slowest.findIndex((name) => moduleId.endsWith(name));
      return at >= 0 ? at : slowest.length + (project.config.isolate ? 0 : 1);
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

const patience = { setupFiles: ['test/support/patience.ts'], expect: { poll: { timeout: 10_000 } } };

const project = (test: TestProjectInlineConfiguration['test']): TestProjectInlineConfiguration => ({
  root,
  test: { testTimeout: 30_000, hookTimeout: 30_000, ...patience, ...test },
});
const alone = [...withProcesses.map((folder) => `test/${folder}/**/*.test.ts`), ...particular];

export default defineConfig({
  root,
  test: {
    globalSetup: ['test/support/build.ts'],
    // Tests that start servers mostly wait for them: twice as many files at a time as there are cores.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: SlowestFirst },
    projects: [
      project({ name: 'alone', include: alone }),
      // What loads the same modules loads them once.
      project({ name: 'together', include: ['test/**/*.test.ts'], exclude: alone, isolate: false }),
    ],
  },
});
