import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from 'vitest/node';
import { type FileResult, firstLine, type Report, type Trouble } from './report.ts';

/** How vitest says that a test or a hook has not ended in time, and `eventually` that what it waited for has not come. */
const timedOut = /^(Test timed out in \d+ms|Hook timed out in \d+ms|Within \d+ ms: )/;

const troubleOf = (name: string, { message }: Pick<SerializedError, 'message'>): Trouble => {
  const said = stripVTControlCharacters(message);
  return { name, said: firstLine(said), isTimeout: timedOut.test(said) };
};

const resultOf = (module: TestModule): FileResult => {
  const tests = [...module.children.allTests()];
  const count = (wanted: string): number => tests.filter((test) => test.result().state === wanted).length;
  const troubles = [
    ...module.errors().map((error) => troubleOf('(import or hook)', error)),
    ...[...module.children.allSuites()].flatMap((suite) =>
      suite.errors().map((error) => troubleOf(`${suite.fullName.replaceAll(' > ', ' › ')} › (hook)`, error)),
    ),
    ...tests.flatMap((test) =>
      (test.result().errors ?? []).map((error) => troubleOf(test.fullName.replaceAll(' > ', ' › '), error)),
    ),
  ];
  const { duration, collectDuration } = module.diagnostic();
  return {
    path: module.relativeModuleId,
    project: module.project.name,
    isFailed: module.state() === 'failed',
    troubles,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    seconds: Math.round((duration + collectDuration) / 1000),
  };
};

/** What vitest ends without: it stopped before it came to them. */
const unfinished = (module: TestModule): string[] => {
  const states = [module, ...module.children.allTests()].map((each) =>
    'result' in each ? each.result().state : each.state(),
  );
  return states.some((state) => state === 'pending' || state === 'queued')
    ? [`${module.relativeModuleId} has not ended`]
    : [];
};

/** Writes what the gate judges into the file GATE_REPORT: vitest's own report in JSON is silent about unhandled errors. */
export default class GateReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): void {
    const faults = [
      ...errors.map(({ name, message }) =>
        firstLine(stripVTControlCharacters(`unhandled error: ${name ?? 'Error'}: ${message}`)),
      ),
      ...modules.flatMap(unfinished),
      ...(reason === 'interrupted' ? ['the run was interrupted'] : []),
    ];
    const report: Report = { files: modules.map(resultOf), faults };
    writeFileSync(process.env.GATE_REPORT!, JSON.stringify(report));
  }
}
