/** What a test, a hook or the loading of a file said when it failed. */
export interface Trouble {
  readonly name: string;
  /** Its first line. */
  readonly said: string;
  /** A test or a hook has not ended in its time, or what it waited for has not come; all else is a wrong value. */
  readonly isTimeout: boolean;
}

export interface FileResult {
  /** From the project's folder on. */
  readonly path: string;
  /** The project of vitest. */
  readonly project: string;
  readonly isFailed: boolean;
  readonly troubles: readonly Trouble[];
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
}

/** What the reporter writes at the end of a run of vitest. */
export interface Report {
  readonly files: readonly FileResult[];
  /** Errors that no file answers for, and files that have not ended. */
  readonly faults: readonly string[];
}

/** A run of vitest and what is needed to repeat it. */
export interface Run {
  readonly step: string;
  readonly command: readonly string[];
  readonly cwd: string;
  /** The environment's PATH, which decides on Node's version. */
  readonly path: string;
  /** The files that were asked for; none is all of the lane. */
  readonly asked: readonly string[];
  readonly status: number | null;
  readonly report: Report | null;
}

/** What is wrong with a run beside failed files: it is never chance, and no file can be run again for it. */
export const faultsOf = ({ status, report }: Pick<Run, 'status' | 'report'>): string[] => {
  if (report === null) return [`it ended with ${status ?? 'a signal'}, without a report`];
  const { faults } = report;
  const hasFailedFile = report.files.some(({ isFailed }) => isFailed);
  const isExplained = status === 0 || (status === 1 && (hasFailedFile || faults.length > 0));
  return isExplained ? [...faults] : [...faults, `it ended with ${status ?? 'a signal'}, which no test explains`];
};

const most = 200;

export const firstLine = (text: string): string => {
  const line = text.trimStart().split('\n', 1)[0]!.trimEnd();
  return line.length > most ? `${line.slice(0, most)}…` : line;
};
