import { type Transferable, Worker } from 'node:worker_threads';
import { Deadline, ProcessorClock, type ThreadPlace } from './deadline.ts';

/** Starting takes 50 ms, but seconds when tsx compiles on a busy machine; no deadline includes it. */
const startMillis = 15_000;

/** The cause is not the job. */
export class NoThread extends Error {
  override readonly name = 'NoThread';
}

/** The entry first posts `thisThread()`, then one message for each result of a job. */
export interface ThreadStart {
  /** JavaScript: a worker cannot start from a .ts file under tsx or vitest on Node 20. */
  readonly entry: URL;
  readonly data?: unknown;
  /** MiB of heap, beyond which the thread ends. */
  readonly heap: number;
}

export interface Done<Result> {
  readonly results: readonly Result[];
  /** Why results are missing; null if none are. `crowded`: other load kept the job from its processor time. */
  readonly cut: 'late' | 'crowded' | 'ended' | null;
  readonly millis: number;
}

type Report<Result> = { readonly result: Result } | 'ready' | 'ended' | 'late';

/** Runs one job at a time. A job that exceeds its deadline ends the thread. */
export class WorkerThread<Job, Result> {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #answer: ((report: Report<Result>) => void) | undefined;
  readonly #early: Report<Result>[] = [];
  /** Undefined until the thread is ready. */
  #clock: ProcessorClock | undefined;
  #fault: unknown;
  alive = true;

  constructor({ entry, data, heap }: ThreadStart) {
    this.#worker = new Worker(entry, {
      // Loaders of the parent, such as vitest's, do not work in a worker; the entry registers its own.
      execArgv: [],
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: heap },
    });
    this.#worker.unref();
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    void this.#ended.then(() => {
      this.alive = false;
      this.#clock?.close();
      this.#answer?.('ended');
    });
    // Without a listener the error would end the process; `exit` follows.
    this.#worker.on('error', (error) => {
      this.#fault = error;
    });
    this.#worker.on('message', (message: unknown) => {
      const report: Report<Result> = this.#clock === undefined ? 'ready' : { result: message as Result };
      if (report === 'ready') this.#clock = new ProcessorClock(message as ThreadPlace);
      if (this.#answer) this.#answer(report);
      else if (report !== 'ready') this.#early.push(report);
    });
  }

  /**
   * Must not be called before the last job has ended.
   * @param millis processor time for each of its results
   * @param lent memory that is transferred to the thread
   * @throws NoThread if the thread does not start in time, Error if it cannot start
   */
  async run(job: Job, count: number, millis: number, lent: readonly Transferable[] = []): Promise<Done<Result>> {
    this.#worker.ref();
    const results: Result[] = [];
    try {
      if (this.#clock === undefined && (await this.#next(startMillis)) !== 'ready') {
        void this.close();
        if (this.#fault !== undefined) throw new Error('the thread could not start', { cause: this.#fault });
        throw new NoThread('the thread did not start');
      }
      const clock = this.#clock!;
      const whole = new Deadline(millis, clock);
      this.#worker.postMessage(job, lent);
      while (results.length < count) {
        const own = new Deadline(millis, clock);
        let report = this.#early.shift() ?? (await this.#next(own.left));
        while (report === 'late' && own.left > 0) report = await this.#next(own.left);
        if (typeof report === 'object') {
          results.push(report.result);
          continue;
        }
        const cut = report !== 'late' ? 'ended' : own.isCrowdedOut ? 'crowded' : 'late';
        const { spent } = whole;
        void this.close();
        return { results, cut, millis: spent };
      }
      return { results, millis: whole.spent, cut: null };
    } finally {
      if (this.alive) this.#worker.unref();
    }
  }

  async close(): Promise<void> {
    this.alive = false;
    await this.#worker.terminate();
    await this.#ended;
  }

  #next(millis: number): Promise<Report<Result>> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle('late'), millis);
      const settle = (report: Report<Result>) => {
        clearTimeout(timer);
        this.#answer = undefined;
        resolve(report);
      };
      this.#answer = settle;
      if (!this.alive) settle('ended');
    });
  }
}
