import { parentPort } from 'node:worker_threads';
import { Deadline, ProcessorClock, thisThread } from '../../threads/deadline.ts';
import { isCompiled } from '../compile.ts';
import { bothCopies, costOfBoth, tooLarge } from '../copies.ts';
import { failed, failedBy, type Verdict } from '../score.ts';
import { type RuleView, viewOf } from '../text/view.ts';
import { trialHere } from '../trial.ts';
import { crowdedOut, type Job, type Result, type SentRule, tookTooLong, tooLong } from './job.ts';
import { RuleCache } from './rule-cache.ts';

// The parent thread enforces the deadline.
const rules = new RuleCache();
const notValid = failed('the rule is not valid');

const compiled = ({ text, direction }: Pick<SentRule, 'text' | 'direction'>) =>
  rules.get(`${direction} ${text}`, text, direction);

const judged = (sent: SentRule, view: RuleView, now: number): Verdict => {
  const rule = compiled(sent);
  if (!isCompiled(rule)) return notValid;
  try {
    return tooLarge(costOfBoth(rule, view).place) ?? bothCopies({ rule, atLeast: sent.atLeast }, view, now) ?? tooLong;
  } catch (error) {
    return failedBy(error);
  }
};

const report = (result: Result) => parentPort?.postMessage(result);
const place = thisThread();
const clock = new ProcessorClock(place);

const tried = (sent: Pick<SentRule, 'text' | 'direction'>): Result => {
  const rule = compiled(sent);
  if (!isCompiled(rule)) return notValid;
  const trial = trialHere(rule);
  return trial === 'late' ? tooLong : { trial };
};

parentPort?.on('message', (job: Job) => {
  if ('trial' in job) return report(tried(job.trial));
  const deadline = new Deadline(job.millis, clock);
  const view = viewOf(job.subject);
  for (const rule of job.rules) {
    if (deadline.left > 0) report(judged(rule, view, job.now));
    else report(deadline.isCrowdedOut ? crowdedOut : tookTooLong);
  }
});
parentPort?.postMessage(place);
