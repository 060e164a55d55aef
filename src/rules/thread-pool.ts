import type { CompiledRule } from './compile.ts';
import { RuleThread } from './rule-thread.ts';
import { failed, type Verdict } from './score.ts';
import { snapshotOf } from './snapshot.ts';
import type { RuleView } from './view.ts';

/** Evaluations that wait for a thread; each keeps its request in memory. */
const mostWaiting = 64;

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

  /** Never rejects. Waits for a thread at most as long as an evaluation may take. */
  async evaluate(rule: CompiledRule, view: RuleView, now: number): Promise<Verdict> {
    if (this.#closed) return failed('rules are not evaluated any more');
    const slot = this.#take() ?? (await this.#turn());
    if (slot === undefined) return failed('too many evaluations at once');
    try {
      const job = { text: rule.text, direction: rule.direction, snapshot: snapshotOf(view, rule.reads), now };
      return await slot.thread.evaluate(job, this.#deadlineMillis);
    } catch {
      return failed('evaluation failed');
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
