import type { Cores } from './options.ts';
import type { Result } from './report/result.ts';
import type { Scenario } from './scenarios/scenario.ts';
import type { Session } from './session.ts';
import type { StageSettings } from './stage.ts';

/** What the commands of the bench are given: where they write, and the one way to measure and to leave a report. */
export interface Terminal {
  out(text: string): void;
  say(text: string): void;
  /** A session of this command: its progress line, its end by Ctrl-C. */
  readonly session: Session;
  /** The status to exit with, unless the command fails. */
  exit(status: number): void;
  /** Runs scenarios, writes result.json and report.html, prints the summary, and sets the status. */
  measure(
    scenarios: readonly Scenario[],
    settings: StageSettings,
    options: { readonly out: string; readonly pin?: Cores },
  ): Promise<Result>;
}
