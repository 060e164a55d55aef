import type { Transferable } from 'node:worker_threads';
import { type Done, NoThread, type ThreadStart, WorkerThread } from './worker-thread.ts';

/** Jobs that wait for a thread, in all and of one owner; each keeps its request in memory. */
const mostWaiting = 64;
const mostWaitingOfOne = 48;

interface Slot<Job, Result> {
  readonly thread: WorkerThread<Job, Result>;
  owner: string | null;
}

interface Waiting<Job, Result> {
  readonly owner: string;
  readonly give: (slot: Slot<Job, Result> | undefined) => void;
}

/** Threads in all, and for jobs of one owner. */
export interface Size {
  readonly most: number;
  readonly mostOfOne: number;
}

export interface Task<Job> {
  readonly job: Job;
  readonly lent?: readonly Transferable[];
}

/** A few worker threads, started on demand. The next job is of the owner with the fewest running ones. */
export class ThreadPool<Job, Result> {
  readonly #start: ThreadStart;
  readonly #size: Size;
  readonly #deadlineMillis: number;
  #slots: Slot<Job, Result>[] = [];
  readonly #waiting = new Set<Waiting<Job, Result>>();
  #closed = false;

  /** @param deadlineMillis of each result, and of the wait for a thread */
  constructor(start: ThreadStart, size: Size, deadlineMillis: number) {
    this.#start = start;
    this.#size = size;
    this.#deadlineMillis = deadlineMillis;
  }

  /** @param task makes the job once a thread is free @param count of its results @throws NoThread if none is free */
  async run(owner: string, task: () => Task<Job>, count: number): Promise<Done<Result>> {
    if (this.#closed) throw new NoThread('the threads have been ended');
    const slot = this.#take(owner) ?? (await this.#turn(owner));
    if (slot === undefined) throw new NoThread('too many evaluations at once');
    try {
      const { job, lent } = task();
      return await slot.thread.run(job, count, this.#deadlineMillis, lent);
    } finally {
      slot.owner = null;
      this.#callNext();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { give } of [...this.#waiting]) give(undefined);
    await Promise.all(this.#slots.map(({ thread }) => thread.close()));
  }

  #take(owner: string): Slot<Job, Result> | undefined {
    if (this.#runningOf(owner) >= this.#size.mostOfOne) return undefined;
    this.#slots = this.#slots.filter((slot) => slot.owner !== null || slot.thread.alive);
    const free = this.#slots.find((slot) => slot.owner === null);
    if (free !== undefined) {
      free.owner = owner;
      return free;
    }
    if (this.#slots.length >= this.#size.most) return undefined;
    const slot = { thread: new WorkerThread<Job, Result>(this.#start), owner };
    this.#slots.push(slot);
    return slot;
  }

  #runningOf(owner: string): number {
    return this.#slots.filter((slot) => slot.owner === owner).length;
  }

  #turn(owner: string): Promise<Slot<Job, Result> | undefined> {
    const own = [...this.#waiting].filter((each) => each.owner === owner).length;
    if (this.#waiting.size >= mostWaiting || own >= mostWaitingOfOne) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiting.give(undefined), this.#deadlineMillis);
      const waiting: Waiting<Job, Result> = {
        owner,
        give: (slot) => {
          clearTimeout(timer);
          this.#waiting.delete(waiting);
          resolve(slot);
        },
      };
      this.#waiting.add(waiting);
    });
  }

  #callNext(): void {
    let next: Waiting<Job, Result> | undefined;
    for (const each of this.#waiting) {
      if (next === undefined || this.#runningOf(each.owner) < this.#runningOf(next.owner)) next = each;
    }
    if (next === undefined || this.#closed) return;
    const slot = this.#take(next.owner);
    if (slot !== undefined) next.give(slot);
  }
}
