import { type Size, ThreadPool } from '../../threads/thread-pool.ts';
import { NoThread } from '../../threads/worker-thread.ts';
import type { CompiledRule } from '../compile.ts';
import { ruleError } from '../rule-error.ts';
import { failed, type Verdict } from '../score.ts';
import type { Subject } from '../text/view.ts';
import type { Trial } from '../trial.ts';
import { workerEntry } from '../worker-place.ts';
import { type Job, type Result, type SentRule, tookTooLong } from './job.ts';

/** Evaluations of one request that may take all of their time; what is left then is not evaluated. */
const mostDeadlines = 5;

const cutShort = { late: failed('the evaluation took too long'), ended: failed('the thread ended') };

/** The threads that rules are evaluated in. */
export class RuleThreads {
  readonly #pool: ThreadPool<Job, Result>;
  readonly #deadlineMillis: number;

  constructor(size: Size, deadlineMillis: number) {
    this.#pool = new ThreadPool({ entry: workerEntry, heap: 512 }, size, deadlineMillis);
    this.#deadlineMillis = deadlineMillis;
  }

  /**
   * The verdicts of rules on one request or answer, in their order. Never rejects. Waits for a thread at most as long as one
   * evaluation may take. One that takes its thread with it costs the others nothing: they go on in another.
   * @param owner the organization, which shares the threads with others
   */
  async judge(
    owner: string,
    rules: readonly SentRule[],
    subject: () => Subject,
    now: number,
  ): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    const end = performance.now() + mostDeadlines * this.#deadlineMillis;
    while (verdicts.length < rules.length) {
      const left = rules.slice(verdicts.length);
      try {
        if (performance.now() > end) throw new NoThread(tookTooLong);
        const job = () => ({ rules: left, subject: subject(), now, millis: end - performance.now() });
        for (const result of await this.#run(owner, job, left.length))
          verdicts.push('trial' in result ? failed('evaluation failed') : result);
      } catch (error) {
        const why = failed(error instanceof NoThread ? error.message : 'evaluation failed');
        for (const _ of left) verdicts.push(why);
      }
    }
    return verdicts;
  }

  /** The trial of a rule, within the time of an evaluation. @throws NoThread */
  async tryOut({ text, direction }: CompiledRule): Promise<Trial> {
    const [result] = await this.#run('', () => ({ trial: { text, direction } }), 1);
    if (result !== undefined && 'trial' in result) return result.trial;
    const why = result?.verdict === 'error' ? result.message : 'evaluation failed';
    return ruleError(text, 0, `The rule fails on the sample requests: ${why}.`);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** @returns one result for each rule; fewer where one has taken the thread with it, which is then the last */
  async #run(owner: string, job: () => Job, count: number): Promise<readonly Result[]> {
    const { results, cut } = await this.#pool.run(owner, () => ({ job: job() }), count);
    return cut === null ? results : [...results, cutShort[cut]];
  }
}
