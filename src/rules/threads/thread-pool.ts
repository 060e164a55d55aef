import type { CompiledRule } from '../compile.ts';
import { ruleError } from '../rule-error.ts';
import { failed, type Verdict } from '../score.ts';
import type { Subject } from '../text/view.ts';
import type { Trial } from '../trial.ts';
import type { Job, Result, SentRule } from './job.ts';
import { NoThread, RuleThread } from './rule-thread.ts';

/** Evaluations that wait for a thread; each keeps its request in memory. */
const mostWaiting = 64;

/** Evaluations of one request that may take all of their time; what is left then is not evaluated. */
const mostDeadlines = 5;

interface Slot {
  readonly thread: RuleThread;
  busy: boolean;
}

/** A few worker threads and a short queue before them. */
export class ThreadPool {
  readonly #most: number;
  readonly #deadlineMillis: number;
  #slots: Slot[] = [];
  /** Who waits, first come first; each is given a slot that is theirs, or nothing. */
  readonly #waiting = new Set<(slot: Slot | undefined) => void>();
  #closed = false;

  constructor(most: number, deadlineMillis: number) {
    this.#most = most;
    this.#deadlineMillis = deadlineMillis;
  }

  /**
   * The verdicts of rules on one request or answer, in their order. Never rejects. Waits for a thread at most as long as one
   * evaluation may take. One that takes its thread with it costs the others nothing: they go on in another.
   */
  async judge(rules: readonly SentRule[], subject: () => Subject, now: number): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    const end = performance.now() + mostDeadlines * this.#deadlineMillis;
    while (verdicts.length < rules.length) {
      const left = rules.slice(verdicts.length);
      try {
        if (performance.now() > end) throw new NoThread('the evaluations of this request took too long');
        for (const result of await this.#run(() => ({ rules: left, subject: subject(), now }), left.length))
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
    const [result] = await this.#run(() => ({ trial: { text, direction } }), 1);
    if (result !== undefined && 'trial' in result) return result.trial;
    const why = result?.verdict === 'error' ? result.message : 'evaluation failed';
    return ruleError(text, 0, `The rule fails on the sample requests: ${why}.`);
  }

  async #run(job: () => Job, count: number): Promise<readonly Result[]> {
    if (this.#closed) throw new NoThread('rules are not evaluated any more');
    const slot = this.#take() ?? (await this.#turn());
    if (slot === undefined) throw new NoThread('too many evaluations at once');
    try {
      return await slot.thread.run(job(), count, this.#deadlineMillis);
    } finally {
      slot.busy = false;
      this.#callNext();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const give of [...this.#waiting]) give(undefined);
    await Promise.all(this.#slots.map(({ thread }) => thread.close()));
  }

  /** A slot that is the caller's from now on; undefined while all are busy. */
  #take(): Slot | undefined {
    this.#slots = this.#slots.filter(({ thread, busy }) => busy || thread.alive);
    const free = this.#slots.find(({ busy }) => !busy);
    if (free !== undefined) {
      free.busy = true;
      return free;
    }
    if (this.#slots.length >= this.#most) return undefined;
    const slot = { thread: new RuleThread(), busy: true };
    this.#slots.push(slot);
    return slot;
  }

  #turn(): Promise<Slot | undefined> {
    if (this.#waiting.size >= mostWaiting) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const timer = setTimeout(() => give(undefined), this.#deadlineMillis);
      const give = (slot: Slot | undefined) => {
        clearTimeout(timer);
        this.#waiting.delete(give);
        resolve(slot);
      };
      this.#waiting.add(give);
    });
  }

  #callNext(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#closed) return;
    const slot = this.#take();
    if (slot !== undefined) first(slot);
  }
}
