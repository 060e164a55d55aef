import { parentPort } from 'node:worker_threads';
import { isCompiled } from '../compile.ts';
import { bothCopies, costOfBoth, tooLarge } from '../copies.ts';
import { failed, type Verdict } from '../score.ts';
import { type RuleView, viewOf } from '../text/view.ts';
import { trialHere } from '../trial.ts';
import { type Job, type Report, type Result, type SentRule, tookTooLong } from './job.ts';
import { RuleCache } from './rule-cache.ts';

// The thread that started this one watches the deadline and ends it from outside.
const rules = new RuleCache();
const notValid = failed('the rule is not valid');
const tooLong = failed('the evaluation took too long');
const tooLate = failed(tookTooLong);

const compiled = ({ text, direction }: Pick<SentRule, 'text' | 'direction'>) =>
  rules.get(`${direction} ${text}`, text, direction);

const judged = (sent: SentRule, view: RuleView, now: number): Verdict => {
  const rule = compiled(sent);
  if (!isCompiled(rule)) return notValid;
  try {
    return tooLarge(costOfBoth(rule, view).place) ?? bothCopies({ rule, atLeast: sent.atLeast }, view, now) ?? tooLong;
  } catch {
    return failed('evaluation failed');
  }
};

const report = (message: Report) => parentPort?.postMessage(message);

/** The trial of a rule. */
const tried = (sent: Pick<SentRule, 'text' | 'direction'>): Result => {
  const rule = compiled(sent);
  if (!isCompiled(rule)) return notValid;
  const trial = trialHere(rule);
  return trial === 'late' ? tooLong : { trial };
};

parentPort?.on('message', (job: Job) => {
  if ('trial' in job) return report(tried(job.trial));
  const end = performance.now() + job.millis;
  const view = viewOf(job.subject);
  for (const rule of job.rules) report(performance.now() > end ? tooLate : judged(rule, view, job.now));
});
report('ready');
