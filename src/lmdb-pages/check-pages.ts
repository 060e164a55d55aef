import { DamagedFile } from './damaged-file.ts';
import { FreePages } from './free-pages.ts';
import { checkMetaPages, type Keeping } from './meta-pages.ts';
import { HEADER, PageFile } from './page-file.ts';
import {
  compareBytes,
  compareNumbers,
  IS_TREE,
  type OnEntry,
  TREE_BYTES,
  type Tree,
  treeAt,
  walkTree,
} from './page-tree.ts';

// LMDB trusts its pages. A page that was swapped, is stale, or has a flipped bit in its header silently loses keys:
// searches miss them, scans end early, and their checksums are never read. So all trees are walked in the raw file
// before LMDB opens it (about 0.4 s for a million events).
const FREE_TREE = 48;
const MAIN_TREE = 96;
const [FREE, MAIN, FIRST_TABLE] = [1, 2, 3];

export type IsOurs = (
  key: Buffer,
  keyStart: number,
  keyEnd: number,
  value: Buffer,
  start: number,
  length: number,
) => boolean;

export interface Judgement extends Keeping {
  /** Undefined if any entry of the table is valid. */
  readonly judge?: (table: string) => IsOurs | undefined;
  /** Whether `IsOurs` gets values on overflow pages whole. Default: only the first page. */
  readonly readsWhole?: boolean;
  /** Whether the root may have an entry that is not a table. */
  readonly isBesideTables?: (key: Buffer) => boolean;
  /** The order of the walk: a page that two tables claim belongs to the first. */
  readonly inOrder?: (names: readonly string[]) => readonly string[];
}

export interface CheckedPages {
  /** The other tables can be used. */
  readonly damaged: ReadonlyMap<string, DamagedFile>;
  /** Entries by table, as its tree counts them. */
  readonly tables: ReadonlyMap<string, number>;
  /** Null for a page of the file itself, undefined for one of no sound table. */
  ownerOf(page: number): string | null | undefined;
}

const nothing: CheckedPages = { damaged: new Map(), tables: new Map(), ownerOf: () => undefined };

/** The file has no writer, or a reader of ours pins it. @throws DamagedFile if the damage is not within one table */
export function checkPages(path: string, judgement: Judgement): CheckedPages {
  const checked = checkMetaPages(path, judgement);
  if (checked.place === undefined) return nothing;
  const file = new PageFile(path, checked);
  try {
    return walked(file, judgement);
  } finally {
    file.close();
  }
}

function walked(file: PageFile, judgement: Judgement): CheckedPages {
  const { isBesideTables, inOrder = (names) => names } = judgement;
  const free = new FreePages(file);
  walkTree(file, treeAt('free pages', FREE, file.meta, FREE_TREE), compareNumbers, free.add);
  const tables = new Map<string, Tree>();
  const main = treeAt('tables', MAIN, file.meta, MAIN_TREE);
  walkTree(file, main, compareBytes, (key, keyStart, keyEnd, value, start, length, flags) => {
    const name = key.subarray(keyStart, keyEnd);
    if (flags !== IS_TREE && isBesideTables?.(name)) return;
    if (flags !== IS_TREE || length !== TREE_BYTES) throw file.damage('a table');
    const table = name.toString('latin1').replace(/\0$/, '');
    tables.set(table, treeAt(table, FIRST_TABLE + tables.size, value, start));
  });
  if (main.flags !== 0) throw file.damage('the kind of its tables');
  const damaged = new Map<string, DamagedFile>();
  for (const name of inOrder([...tables.keys()])) {
    const tree = tables.get(name)!;
    try {
      if (tree.flags !== 0) throw file.damage(`the kind of ${name}`);
      walkTree(file, tree, compareBytes, entryOf(file, name, judgement));
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      damaged.set(name, error);
      file.disown(tree.owner);
    }
  }
  free.check(damaged.size === 0);
  const names = [...tables.keys()];
  return {
    damaged,
    tables: new Map([...tables].map(([name, { entries }]) => [name, entries])),
    ownerOf(page) {
      const owner = file.owners[page] ?? 0;
      if (page < 2 || owner === FREE || owner === MAIN) return null;
      return names[owner - FIRST_TABLE];
    },
  };
}

const entryOf = (file: PageFile, table: string, { judge, readsWhole }: Judgement): OnEntry | undefined => {
  const isOurs = judge?.(table);
  return (
    isOurs &&
    ((key, keyStart, keyEnd, value, start, length, flags, overflow) => {
      const isJudgedWhole = readsWhole && overflow > 0;
      const from = isJudgedWhole ? file.read(overflow * file.pageSize + HEADER, length, `a value of ${table}`) : value;
      if (flags !== IS_TREE && isOurs(key, keyStart, keyEnd, from, isJudgedWhole ? 0 : start, length)) return;
      throw file.damage(`an entry of ${table}, ${printable(key.subarray(keyStart, keyEnd))},`);
    })
  );
};

const printable = (key: Buffer): string => JSON.stringify(key.toString('latin1'));
