// Lane: fast: it compares texts
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plantedFaults } from './faults.ts';

const inProject = (path: string): URL => new URL(`../../${path}`, import.meta.url);

test.each(plantedFaults)('$title: there is one place for it in $file', ({ file, from, to, test: noticedBy }) => {
  expect(readFileSync(inProject(file), 'utf8').split(from)).toHaveLength(2);
  expect(to).not.toContain(from);
  expect(existsSync(inProject(noticedBy)), noticedBy).toBe(true);
});
