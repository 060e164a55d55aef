import type { Transferable } from 'node:worker_threads';
import { type Done, NoThread, type ThreadStart, WorkerThread } from './worker-thread.ts';

/** Jobs that wait for a thread; each keeps its request in memory. */
const mostWaiting = 64;

interface Slot<Job, Result> {
  readonly thread: WorkerThread<Job, Result>;
  busy: boolean;
}

/** What a thread is to do. */
export interface Task<Job> {
  readonly job: Job;
  /** Memory that is the thread's from now on. */
  readonly lent?: readonly Transferable[];
}

/** A few worker threads, which start when first needed, and a short queue before them. */
export class ThreadPool<Job, Result> {
  readonly #start: ThreadStart;
  readonly #most: number;
  readonly #deadlineMillis: number;
  #slots: Slot<Job, Result>[] = [];
  /** Who waits, first come first; each is given a slot that is theirs, or nothing. */
  readonly #waiting = new Set<(slot: Slot<Job, Result> | undefined) => void>();
  #closed = false;

  /**
   * @param most threads at once
   * @param deadlineMillis of each result, and of the wait for a thread
   */
  constructor(start: ThreadStart, most: number, deadlineMillis: number) {
    this.#start = start;
    this.#most = most;
    this.#deadlineMillis = deadlineMillis;
  }

  /**
   * Does a job, which is made when there is a thread for it.
   * @param count of its results
   * @throws NoThread where none is free in time
   */
  async run(task: () => Task<Job>, count: number): Promise<Done<Result>> {
    if (this.#closed) throw new NoThread('the threads have been ended');
    const slot = this.#take() ?? (await this.#turn());
    if (slot === undefined) throw new NoThread('too many evaluations at once');
    try {
      const { job, lent } = task();
      return await slot.thread.run(job, count, this.#deadlineMillis, lent);
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
  #take(): Slot<Job, Result> | undefined {
    this.#slots = this.#slots.filter(({ thread, busy }) => busy || thread.alive);
    const free = this.#slots.find(({ busy }) => !busy);
    if (free !== undefined) {
      free.busy = true;
      return free;
    }
    if (this.#slots.length >= this.#most) return undefined;
    const slot = { thread: new WorkerThread<Job, Result>(this.#start), busy: true };
    this.#slots.push(slot);
    return slot;
  }

  #turn(): Promise<Slot<Job, Result> | undefined> {
    if (this.#waiting.size >= mostWaiting) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const timer = setTimeout(() => give(undefined), this.#deadlineMillis);
      const give = (slot: Slot<Job, Result> | undefined) => {
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
