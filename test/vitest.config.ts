import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isAtStore, type Lane, type TestFile, testFiles } from './support/lanes.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What takes longest, longest first: begun last, one of them would run while the other cores have nothing to do. */
const slowest = [
  'e2e/clients/clients',
  'e2e/clients/generated',
  'e2e/clients/agents',
  'e2e/schemathesis',
  'e2e/llama-cpp',
  'torture/disk',
  'torture/traffic',
  'torture/gateway',
  'torture/models',
  'gate/gate',
  'torture/front',
  'e2e/audit-log',
  'e2e/full-disk',
  'e2e/durability',
  'cli/store',
  'e2e/archive-races',
  'contract/life',
  'e2e/audit-questions',
  'e2e/startup',
  'embedded/lock',
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

/** With WEIR_EVENTSTORE=tls those at a store are run over TLS, in projects of the rest. */
const overTls = process.env.WEIR_EVENTSTORE === 'tls';

const files = testFiles();

interface Part {
  readonly name: string;
  readonly lane: Lane;
  readonly tls?: boolean;
  has(file: TestFile): boolean;
}

const parts: readonly Part[] = [
  { name: 'fast', lane: 'fast', has: ({ lane }) => lane === 'fast' },
  { name: 'middle', lane: 'middle', has: (file) => file.lane === 'middle' && !(overTls && isAtStore(file)) },
  { name: 'rest', lane: 'rest', has: ({ lane }) => lane === 'rest' },
  { name: 'daily', lane: 'daily', has: ({ lane }) => lane === 'daily' },
  ...(overTls ? [{ name: 'rest-tls', lane: 'rest', tls: true, has: isAtStore } as const] : []),
];

/**
 * The files of a part that hand their process on (what loads the same modules loads them once), those that have one of their
 * own, and those that measure time: each of them runs with nothing beside it, when the others are over.
 */
const projects = ({ name, lane, tls = false, has }: Part): TestProjectInlineConfiguration[] => {
  const own = files.filter(has);
  const project = (kind: string, included: readonly TestFile[]): TestProjectInlineConfiguration => ({
    root,
    test: {
      name: `${name}${kind}`,
      include: included.map(({ path }) => path),
      isolate: kind !== '',
      ...(kind === '-timed' && { maxWorkers: 1, sequence: { groupOrder: 1 } }),
      env: { WEIR_EVENTSTORE: tls ? 'tls' : '' },
      // What starts a gateway starts the one that is built.
      globalSetup: [
        ...(lane === 'fast' ? [] : ['test/support/build.ts']),
        ...(tls && kind !== '' ? ['test/support/foreign-store.ts'] : []),
      ],
      setupFiles: [
        'test/support/patience.ts',
        'test/support/properties.ts',
        lane === 'fast' ? 'test/support/no-processes.ts' : 'test/support/leave-nothing.ts',
      ],
      expect: { poll: { timeout: 20_000 } },
      testTimeout: 30_000,
      hookTimeout: 30_000,
    },
  });
  const kinds: readonly [string, (file: TestFile) => boolean][] = [
    ['', ({ alone, timed }) => !alone && !timed],
    ['-alone', ({ alone }) => alone],
    ['-timed', ({ timed }) => timed],
  ];
  // Each project takes a moment to begin; a part has one at least.
  return kinds
    .map(([kind, isOf]) => [kind, own.filter(isOf)] as const)
    .filter(([kind, included]) => kind === '' || included.length > 0)
    .map(([kind, included]) => project(kind, included));
};

export default defineConfig({
  root,
  test: {
    // Tests that start servers mostly wait for them: twice as many files at a time as there are cores.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: SlowestFirst },
    projects: parts.flatMap(projects),
  },
});
