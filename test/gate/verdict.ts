import { type FileResult, faultsOf, type Run } from './report.ts';
import type { Look } from './second-look.ts';

const troublesOf = ({ path, troubles }: FileResult): string[] =>
  troubles.length > 0 ? troubles.map(({ name, said }) => `${path} › ${name}: ${said}`) : [`${path}: it failed`];

const slowestOf = (runs: readonly Run[]): string => {
  const files = runs.flatMap(({ report }) => report?.files ?? []).toSorted((a, b) => b.seconds - a.seconds);
  return files
    .slice(0, 25)
    .map(({ path, seconds }) => `${path.replace('test/', '')} ${seconds} s`)
    .join(', ');
};

/** Files that were asked for by name and that no run has found. */
const notFound = (runs: readonly Run[]): string[] => {
  const found = runs.flatMap(({ report }) => (report?.files ?? []).map(({ path }) => path));
  return [...new Set(runs.flatMap(({ asked }) => asked))].filter(
    (name) => !found.some((path) => path.startsWith(name)),
  );
};

/** The closing lines of `.ci/run`: what has failed, what was unsteady, and last the counts. */
export const verdictOf = (
  runs: readonly Run[],
  looks: readonly Look[],
  failedSteps: readonly string[],
  closing: string,
): { lines: string[]; isPassed: boolean } => {
  let [passed, failed, skipped] = [0, failedSteps.length, 0];
  const faults = notFound(runs).map((name) => `failed: ${name}: no test file is called so`);
  failed += faults.length;
  const unsteady: string[] = [];
  for (const run of runs) {
    for (const fault of faultsOf(run)) faults.push(`failed: ${run.step}: ${fault}`);
    for (const file of run.report?.files ?? []) {
      const look = looks.find(
        (each) => each.step === run.step && each.path === file.path && each.project === file.project,
      );
      const isUnsteady = file.isFailed && look?.fault === null;
      const counted = isUnsteady ? look : file;
      passed += counted.passed;
      skipped += counted.skipped;
      if (isUnsteady) unsteady.push(...troublesOf(file).map((text) => `unsteady: ${text}`));
      if (!file.isFailed || isUnsteady) continue;
      // A hook fails or a file cannot be loaded without a failed test.
      failed += Math.max(1, file.failed);
      const fault = look?.fault ?? 'there was no second look';
      faults.push(...troublesOf(file).map((text) => `failed: ${text} (${fault})`));
    }
  }
  const lines = [
    `slowest files: ${slowestOf(runs)}`,
    ...faults,
    ...unsteady,
    ...failedSteps.map((step) => `failed step: ${step}`),
    ...(closing === '' ? [] : closing.split('\n')),
    `${passed} passed, ${failed} failed, ${skipped} skipped`,
  ];
  return { lines, isPassed: failed === 0 && passed > 0 };
};
