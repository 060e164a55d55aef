import { readFileSync } from 'node:fs';
import { seedKeys } from '../peers/seed.ts';
import type { Weir } from '../peers/weir.ts';
import type { Stage } from '../stage.ts';
import type { Holder } from '../truth/ask.ts';

interface Line {
  readonly value: string;
  readonly project_id: string;
}

/** Three keys of one new organization: two of one project and one of another. */
export const holdersOf = async (stage: Stage, weir: Weir): Promise<readonly Holder[]> => {
  const theirs = { organizations: 1, projects: 2, keys: 4, tier: 0 };
  // The second is asked whether the gateway knows them all: no attempt of the first goes uncounted.
  const file = await seedKeys(stage, weir, [theirs, { ...theirs, projects: 1, keys: 1 }]);
  const lines = readFileSync(file, 'utf8').trim().split('\n').slice(0, theirs.keys);
  const all = lines
    .map((line) => JSON.parse(line) as Line)
    .map(({ value, project_id }) => ({ key: value, project: project_id }));
  const [first] = all;
  const same = all.filter(({ project }) => project === first?.project);
  const other = all.filter(({ project }) => project !== first?.project);
  return [...same.slice(0, 2), ...other.slice(0, 1)];
};
