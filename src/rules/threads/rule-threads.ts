import { type Size, ThreadPool } from '../../threads/thread-pool.ts';
import { NoThread } from '../../threads/worker-thread.ts';
import type { CompiledRule } from '../compile.ts';
import { ruleError } from '../rule-error.ts';
import { busy, failed, failedBy, type Verdict } from '../score.ts';
import type { Subject } from '../text/view.ts';
import type { Trial } from '../trial.ts';
import { workerEntry } from '../worker-place.ts';
import { crowdedOut, type Job, type Result, type SentRule, tookTooLong, tooLong } from './job.ts';

/** Deadlines' worth of time for all evaluations of one request. */
const mostDeadlines = 5;

const cutShort = { late: tooLong, ended: failed('the thread ended'), crowded: crowdedOut };

export class RuleThreads {
  readonly #pool: ThreadPool<Job, Result>;
  readonly #deadlineMillis: number;

  constructor(size: Size, deadlineMillis: number) {
    this.#pool = new ThreadPool({ entry: workerEntry, heap: 512 }, size, deadlineMillis);
    this.#deadlineMillis = deadlineMillis;
  }

  /**
   * The verdicts of rules in their order. Never rejects. Waits for a thread for at most one deadline; after a rule that ended
   * its thread the others continue in another.
   * @param owner the organization, among which threads are shared
   */
  async judge(
    owner: string,
    rules: readonly SentRule[],
    subject: () => Subject,
    now: number,
  ): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    const allRest = (verdict: Verdict): Verdict[] => [...verdicts, ...rules.slice(verdicts.length).map(() => verdict)];
    let left = mostDeadlines * this.#deadlineMillis;
    while (verdicts.length < rules.length) {
      if (left <= 0) return allRest(tookTooLong);
      const rest = rules.slice(verdicts.length);
      try {
        const job = () => ({ job: { rules: rest, subject: subject(), now, millis: left } });
        const { results, cut, millis } = await this.#pool.run(owner, job, rest.length);
        for (const result of results) verdicts.push('trial' in result ? failed('evaluation failed') : result);
        if (cut !== null) verdicts.push(cutShort[cut]);
        if (cut === 'crowded') return allRest(crowdedOut);
        left -= millis;
      } catch (error) {
        return allRest(error instanceof NoThread ? busy(error.message) : failedBy(error));
      }
    }
    return verdicts;
  }

  /** Tries a rule within one deadline. @throws NoThread */
  async tryOut({ text, direction }: CompiledRule): Promise<Trial> {
    const job = () => ({ job: { trial: { text, direction } } });
    const { results, cut } = await this.#pool.run('', job, 1);
    const result = cut === null ? results[0]! : cutShort[cut];
    if ('trial' in result) return result.trial;
    if (cut === 'crowded') throw new NoThread('the trial had no time');
    const why = result.verdict === 'error' ? result.message : 'evaluation failed';
    return ruleError(text, 0, `The rule fails on the sample requests: ${why}.`);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
