import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Which command runs a test: `npm run test:fast`; `npm test`, which runs the fast ones too; `npm run test:rest` or `test:daily`. */
export type Lane = 'fast' | 'middle' | 'rest' | 'daily';

export interface TestFile {
  /** From the project's folder on. */
  readonly path: string;
  readonly lane: Lane;
  /** It has a process of its own: it starts others, or puts something in the place of modules or in the way of other tests. */
  readonly alone: boolean;
  /** Its verdict depends on how long something took: with a process of its own, it runs after the others, one file at a time. */
  readonly timed: boolean;
}

type Place = Pick<TestFile, 'lane' | 'alone'>;

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The lane of each folder; the innermost decides. */
const folders: Readonly<Record<string, Place>> = {
  test: { lane: 'fast', alone: false },
  'test/bench': { lane: 'daily', alone: false },
  'test/cli': { lane: 'middle', alone: false },
  'test/contract': { lane: 'middle', alone: true },
  'test/deploy': { lane: 'daily', alone: false },
  'test/e2e': { lane: 'middle', alone: false },
  'test/e2e/clients': { lane: 'daily', alone: false },
  'test/embedded': { lane: 'middle', alone: true },
  'test/eventstoredb': { lane: 'middle', alone: true },
  'test/matrix': { lane: 'middle', alone: false },
  'test/planted': { lane: 'rest', alone: true },
  'test/torture': { lane: 'rest', alone: true },
  'test/upgrade': { lane: 'rest', alone: false },
  'test/wire': { lane: 'middle', alone: false },
};

const folderPlace = (path: string): Omit<TestFile, 'path'> => {
  const around = Object.keys(folders).filter((folder) => path.startsWith(`${folder}/`));
  const innermost = around.toSorted((a, b) => b.length - a.length)[0]!;
  return { ...folders[innermost]!, timed: false };
};

/** What a file says of itself in its first line, which goes before its folder: `// Lane: middle, alone: why`. */
const ownPlace = (path: string): Omit<TestFile, 'path'> | undefined => {
  const [first] = readFileSync(join(root, path), 'utf8').split('\n', 1);
  if (!first?.startsWith('// Lane')) return undefined;
  const [, lane, mark] = /^\/\/ Lane: (fast|middle|rest|daily)(?:, (alone|timed))?: \S/.exec(first) ?? [];
  if (lane === undefined)
    throw new Error(`${path}: the first line is "// Lane: fast|middle|rest|daily[, alone|timed]: why".`);
  return { lane: lane as Lane, alone: mark === 'alone', timed: mark === 'timed' };
};

/** Every test file, in the order of their paths. */
export const testFiles = (): TestFile[] =>
  readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name}`)
    .toSorted()
    .map((path) => ({ path, ...(ownPlace(path) ?? folderPlace(path)) }));

const atStore = [
  ...['append', 'delete', 'read', 'resume', 'sizes', 'subscribe', 'successor'].map((name) => `contract/${name}`),
  ...['access-records', 'archive', 'audit', 'deleted-stream', 'operating', 'rotation', 'walkthrough'].map(
    (name) => `e2e/${name}`,
  ),
].map((name) => `test/${name}.test.ts`);

/**
 * `npm run test:rest` runs these once more over TLS: what a gateway writes to its store, reads, follows and deletes there, and
 * how clients do so. What else is asked of a gateway does not depend on where its events are.
 */
export const isAtStore = ({ path }: Pick<TestFile, 'path'>): boolean => atStore.includes(path);
