import type { CompiledRule } from './compile.ts';
import { bothCopies, costOfBoth, type JudgedRule, tooLarge } from './copies.ts';
import { maxBuiltOnLoop, maxMillisOnLoop, workerDeadlineMillis } from './language/limits.ts';
import type { Direction } from './language/variables.ts';
import { LoopShare } from './loop-share.ts';
import { failedBy, type Verdict } from './score.ts';
import type { RuleView } from './text/view.ts';
import type { SentRule } from './threads/job.ts';
import { RuleThreads } from './threads/rule-threads.ts';
import { placeOfTrial, type Trial, trialHere } from './trial.ts';

export interface Evaluator {
  /**
   * Evaluates rules on both copies of a view. The verdicts, in the order of the rules, usually come at once; in a promise,
   * which never rejects, if a part could block the event loop and runs in a thread. Errors are verdicts (contract H).
   */
  judge(
    rules: readonly AnyRule[],
    view: RuleView,
    at: { readonly now: number },
  ): readonly Verdict[] | Promise<readonly Verdict[]>;
  /** The same for one rule without a threshold; an error of either copy counts. */
  evaluate(rule: CompiledRule, view: RuleView, at: { readonly now: number }): Verdict | Promise<Verdict>;
  /** Tries a rule on the samples, in a separate thread if it could block the loop. @throws NoThread */
  tryOut(rule: CompiledRule): Promise<Trial>;
  /** Ends the threads; running evaluations become errors. */
  close(): Promise<void>;
}

export interface EvaluatorOptions {
  /** Most worker threads; they start when needed. */
  readonly threads?: number;
  /** For tests. */
  readonly deadlineMillis?: number;
}

/** A rule that is not compiled here is compiled in a thread. */
export type AnyRule =
  | JudgedRule
  | { readonly rule: null; readonly text: string; readonly direction: Direction; readonly atLeast: number };

const sent = (each: AnyRule): SentRule => {
  const { text, direction } = each.rule ?? each;
  return { text, direction, atLeast: each.atLeast };
};

const never = 10_001;

/** One per process; owns the worker threads. */
export const openEvaluator = (options: EvaluatorOptions = {}): Evaluator => {
  const deadlineMillis = options.deadlineMillis ?? workerDeadlineMillis;
  const most = options.threads ?? 3;
  // One thread stays free for other organizations.
  const pool = new RuleThreads({ most, mostOfOne: Math.max(1, most - 1) }, deadlineMillis);
  const trials = new RuleThreads({ most: 1, mostOfOne: 1 }, deadlineMillis);
  const share = new LoopShare();

  /** Evaluates on this thread; null where it could take longer than `left` milliseconds. */
  const here = (judged: JudgedRule, view: RuleView, now: number, left: number): Verdict | null => {
    try {
      const { place, nanos } = costOfBoth(judged.rule, view);
      if (place === 'worker' || (place === 'loop' && nanos > left * 1e6)) return null;
      return tooLarge(place) ?? bothCopies(judged, view, now, left);
    } catch (error) {
      // A text that cannot be built must not pass a policy.
      return failedBy(error);
    }
  };

  /** The verdicts that fit into this time on the event loop; null for the others. */
  const onLoop = (rules: readonly AnyRule[], view: RuleView, now: number, most: number): (Verdict | null)[] => {
    let left = Math.min(maxMillisOnLoop, most);
    try {
      const isLong = left <= 0 || view.length() > maxBuiltOnLoop;
      return rules.map((each) => {
        if (isLong || each.rule === null) return null;
        const began = performance.now();
        const verdict = here(each, view, now, left);
        // The first rule's time includes building the texts, whose length is bounded.
        if (each !== rules[0]) left -= performance.now() - began;
        return verdict;
      });
    } catch (error) {
      return rules.map(() => failedBy(error));
    }
  };

  const judge: Evaluator['judge'] = (rules, view, { now }) => {
    const owner = view.organizationId;
    const verdicts = share.taking(owner, () => onLoop(rules, view, now, share.left(owner)));
    const late = rules.filter((_, index) => verdicts[index] === null);
    if (late.length === 0) return verdicts as readonly Verdict[];
    return pool
      .judge(owner, late.map(sent), () => share.taking(owner, () => view.subject()), now)
      .then((rest) => {
        let next = 0;
        return verdicts.map((verdict) => verdict ?? rest[next++]!);
      });
  };

  return {
    judge,
    evaluate(rule, view, at) {
      const verdicts = judge([{ rule, atLeast: never }], view, at);
      return verdicts instanceof Promise ? verdicts.then(([verdict]) => verdict!) : verdicts[0]!;
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
