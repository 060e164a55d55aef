import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Which command runs a test: `npm run test:fast`; `npm test`, which runs the fast ones too; `npm run test:rest`. */
export type Lane = 'fast' | 'middle' | 'rest';

export interface TestFile {
  /** From the project's folder on. */
  readonly path: string;
  readonly lane: Lane;
  /** It has a process of its own: it starts others, or puts something in the place of modules or in the way of other tests. */
  readonly alone: boolean;
}

type Place = Pick<TestFile, 'lane' | 'alone'>;

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The lane of each folder; the innermost decides. */
const folders: Readonly<Record<string, Place>> = {
  test: { lane: 'fast', alone: false },
  'test/bench': { lane: 'rest', alone: false },
  'test/cli': { lane: 'middle', alone: false },
  'test/contract': { lane: 'middle', alone: true },
  'test/deploy': { lane: 'rest', alone: false },
  'test/e2e': { lane: 'middle', alone: false },
  'test/e2e/clients': { lane: 'rest', alone: false },
  'test/embedded': { lane: 'middle', alone: true },
  'test/eventstoredb': { lane: 'middle', alone: true },
  'test/matrix': { lane: 'middle', alone: false },
  'test/planted': { lane: 'rest', alone: true },
  'test/torture': { lane: 'rest', alone: true },
  'test/upgrade': { lane: 'rest', alone: false },
  'test/wire': { lane: 'middle', alone: false },
};

const folderPlace = (path: string): Place => {
  const around = Object.keys(folders).filter((folder) => path.startsWith(`${folder}/`));
  const innermost = around.toSorted((a, b) => b.length - a.length)[0]!;
  return folders[innermost]!;
};

/** What a file says of itself in its first line, which goes before its folder: `// Lane: middle, alone: why`. */
const ownPlace = (path: string): Place | undefined => {
  const [first] = readFileSync(join(root, path), 'utf8').split('\n', 1);
  if (!first?.startsWith('// Lane')) return undefined;
  const [, lane, alone] = /^\/\/ Lane: (fast|middle|rest)(, alone)?: \S/.exec(first) ?? [];
  if (lane === undefined) throw new Error(`${path}: the first line is "// Lane: fast|middle|rest[, alone]: why".`);
  return { lane: lane as Lane, alone: alone !== undefined };
};

/** Every test file, in the order of their paths. */
export const testFiles = (): TestFile[] =>
  readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name}`)
    .toSorted()
    .map((path) => ({ path, ...(ownPlace(path) ?? folderPlace(path)) }));
