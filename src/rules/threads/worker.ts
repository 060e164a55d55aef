import { parentPort } from 'node:worker_threads';
import { isCompiled } from '../compile.ts';
import { failed } from '../score.ts';
import { trialHere } from '../trial.ts';
import { verdictHere } from '../verdict.ts';
import type { Job, Report, Result } from './job.ts';
import { RuleCache } from './rule-cache.ts';
import { viewOf } from './variables-of.ts';

// The thread that started this one watches the deadline and ends it from outside.
const rules = new RuleCache();

const answer = ({ text, direction, subject }: Job): Result => {
  const rule = rules.get(`${direction} ${text}`, text, direction);
  if (!isCompiled(rule)) return failed('the rule is not valid');
  const tooLong = failed('the evaluation took too long');
  if (subject !== undefined) return verdictHere(rule, viewOf(subject.snapshot), subject.now) ?? tooLong;
  const trial = trialHere(rule);
  return trial === 'late' ? tooLong : { trial };
};

const report = (message: Report) => parentPort?.postMessage(message);
parentPort?.on('message', (job: Job) => report(answer(job)));
report('ready');
