import { mayBeChance } from './chance.ts';
import { type FileResult, faultsOf, type Run } from './report.ts';

/** With more of them it is no chance. */
const mostFiles = 5;
const timesAlone = 5;

/** A file that failed in a run, and what the second look says of it. */
export interface Look {
  readonly step: string;
  readonly path: string;
  readonly project: string;
  /** Why it has failed; null where it passed each time. */
  readonly fault: string | null;
  /** As it was when it passed. */
  readonly passed: number;
  readonly skipped: number;
}

type Outcome = Pick<Run, 'status' | 'report'>;
/** Runs a command of tests again where and as it was run. */
export type Repeat = (run: Run, command: readonly string[], files: readonly string[]) => Outcome;

const sameFile = (one: FileResult, other: FileResult): boolean =>
  one.path === other.path && one.project === other.project;

/** What a repetition found: the file as it passed, or why that does not count. Files that had failed before are judged by themselves. */
const judged = (outcome: Outcome, file: FileResult, failedBefore: readonly FileResult[]): FileResult | string => {
  const [fault] = faultsOf(outcome);
  if (fault !== undefined) return fault;
  const { files } = outcome.report!;
  const found = files.find((each) => sameFile(each, file));
  if (!found) return 'it was not run';
  if (found.isFailed) return found.troubles[0]?.said ?? 'it failed';
  const other = files.find((each) => each.isFailed && !failedBefore.some((before) => sameFile(before, each)));
  return other ? `${other.path} failed beside it: ${other.troubles[0]?.said}` : found;
};

const wholeLane = ['npm', 'run', 'test:fast'];

/**
 * Runs each failed file again with nothing beside it: five times alone; one that shares its process with others twice alone
 * and once with its whole lane, for what others leave behind in the process must not hide.
 */
export const secondLook = (runs: readonly Run[], repeat: Repeat, say: (text: string) => void): Look[] => {
  const failures = runs.flatMap((run) =>
    (run.report?.files ?? []).filter(({ isFailed }) => isFailed).map((file) => ({ run, file })),
  );
  const isTooMany = failures.filter(({ file }) => mayBeChance(file)).length > mostFiles;
  const failed = failures.map(({ file }) => file);
  const lanes = new Map<string, Outcome>();
  const again = (run: Run, file: FileResult, isAlone: boolean): FileResult | string => {
    if (isAlone) return judged(repeat(run, run.command, [file.path]), file, failed);
    const lane = lanes.get(run.step) ?? repeat(run, wholeLane, []);
    lanes.set(run.step, lane);
    return judged(lane, file, failed);
  };
  const faultOf = (run: Run, file: FileResult): FileResult | string => {
    if (!mayBeChance(file)) return 'a wrong value is a fault here, whatever a second look says';
    if (isTooMany) return `more than ${mostFiles} files failed`;
    const looks = file.project === 'fast' ? [true, true, false] : Array<boolean>(timesAlone).fill(true);
    let last: FileResult | string = '';
    for (const [i, isAlone] of looks.entries()) {
      last = again(run, file, isAlone);
      const which = `look ${i + 1} of ${looks.length}${isAlone ? '' : ', with its whole lane'}`;
      say(`${file.path}: ${which}: ${typeof last === 'string' ? last : 'passed'}`);
      if (typeof last === 'string') return `${which}: ${last}`;
    }
    return last;
  };
  return failures.map(({ run, file }) => {
    const found = faultOf(run, file);
    const { step } = run;
    const { path, project } = file;
    if (typeof found === 'string')
      return { step, path, project, fault: found, passed: file.passed, skipped: file.skipped };
    return { step, path, project, fault: null, passed: found.passed, skipped: found.skipped };
  });
};
