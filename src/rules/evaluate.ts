import { placeFor } from './budget.ts';
import type { CompiledRule } from './compile.ts';
import { maxMillisOnLoop, workerDeadlineMillis } from './language/limits.ts';
import { failed, type Verdict } from './score.ts';
import type { RuleView } from './text/view.ts';
import { ThreadPool } from './threads/thread-pool.ts';
import { placeOfTrial, type Trial, trialHere } from './trial.ts';
import { verdictHere } from './verdict.ts';

export interface Evaluator {
  /**
   * Evaluates a rule on the view of a request or answer. A plain verdict in the usual case; a promise, which never
   * rejects, when the work could hold up the loop and goes to a worker thread. Never throws: what goes wrong, a budget
   * exceeded among it, is the verdict `error` (contract H, run-time budget).
   */
  evaluate(rule: CompiledRule, view: RuleView, at: { readonly now: number }): Verdict | Promise<Verdict>;
  /**
   * Tries a rule on the samples under the deadlines of a judgement, in a thread of its own where that could hold up the
   * loop: a trial takes no thread from a judgement.
   * @throws NoThread where no thread is free in time
   */
  tryOut(rule: CompiledRule): Promise<Trial>;
  /** Ends the threads; evaluations under way there come out as errors. */
  close(): Promise<void>;
}

export interface EvaluatorOptions {
  /** Worker threads at most. They start when first needed. */
  readonly threads?: number;
  /** For tests. */
  readonly deadlineMillis?: number;
}

/** One evaluator serves the whole process; it owns the worker threads. */
export const openEvaluator = (options: EvaluatorOptions = {}): Evaluator => {
  const deadlineMillis = options.deadlineMillis ?? workerDeadlineMillis;
  const pool = new ThreadPool(options.threads ?? 2, deadlineMillis);
  const trials = new ThreadPool(1, deadlineMillis);
  return {
    evaluate(rule, view, { now }) {
      try {
        const place = placeFor(rule, view);
        if (place === 'loop') return verdictHere(rule, view, now, maxMillisOnLoop) ?? pool.evaluate(rule, view, now);
        return place === 'worker' ? pool.evaluate(rule, view, now) : failed(`${place} for this rule`);
      } catch {
        // A text that cannot be built: no request that passed validation has one, and a policy must not fail open.
        return failed('evaluation failed');
      }
    },
    async tryOut(rule) {
      const place = placeOfTrial(rule);
      if (typeof place === 'object') return place;
      const trial = place === 'loop' ? trialHere(rule, maxMillisOnLoop) : 'late';
      return trial === 'late' ? trials.tryOut(rule) : trial;
    },
    async close() {
      await Promise.all([pool.close(), trials.close()]);
    },
  };
};
