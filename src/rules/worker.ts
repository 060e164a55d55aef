import { parentPort } from 'node:worker_threads';
import { isCompiled } from './compile.ts';
import type { Job, Report } from './job.ts';
import { RuleCache } from './rule-cache.ts';
import { failed, type Verdict } from './score.ts';
import { viewOf } from './snapshot.ts';
import { verdictHere } from './verdict.ts';

// The thread that started this one watches the deadline and ends it from outside.
const rules = new RuleCache();

const answer = ({ text, direction, snapshot, now }: Job): Verdict => {
  const rule = rules.get(`${direction} ${text}`, text, direction);
  if (!isCompiled(rule)) return failed('the rule is not valid');
  return verdictHere(rule, viewOf(snapshot), now) ?? failed('the evaluation took too long');
};

const report = (message: Report) => parentPort?.postMessage(message);
parentPort?.on('message', (job: Job) => report(answer(job)));
report('ready');
