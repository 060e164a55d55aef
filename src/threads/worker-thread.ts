import { type Transferable, Worker } from 'node:worker_threads';
import { Deadline, ProcessorClock, type ThreadPlace } from './deadline.ts';

/** Starting takes 50 ms, and seconds when tsx compiles on a busy machine; it is not part of any deadline. */
const startMillis = 15_000;

/** There is no thread for a job. The job has no part in it. */
export class NoThread extends Error {
  override readonly name = 'NoThread';
}

/** How a worker thread begins. Its entry says where it is (`thisThread`) once it listens, and then one thing for each result of a job. */
export interface ThreadStart {
  /** JavaScript: a worker cannot start from a .ts file under tsx or vitest on Node 20. */
  readonly entry: URL;
  readonly data?: unknown;
  /** MiB of the engine's heap, beyond which the thread ends. */
  readonly heap: number;
}

/** What has become of a job. */
export interface Done<Result> {
  readonly results: readonly Result[];
  /**
   * Why there are no more of them; null where all are there. `crowded` where it has not had its time on a processor, for others had
   * them. The thread has ended then.
   */
  readonly cut: 'late' | 'crowded' | 'ended' | null;
  /** Milliseconds of a processor that it took. */
  readonly millis: number;
}

type Report<Result> = { readonly result: Result } | 'ready' | 'ended' | 'late';

/** A worker thread that does one job at a time. A job past its deadline takes the thread with it. */
export class WorkerThread<Job, Result> {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #answer: ((report: Report<Result>) => void) | undefined;
  /** Results that came before they were waited for. */
  readonly #early: Report<Result>[] = [];
  /** Undefined before it listens. */
  #clock: ProcessorClock | undefined;
  alive = true;

  constructor({ entry, data, heap }: ThreadStart) {
    this.#worker = new Worker(entry, {
      // Loaders of the parent, such as vitest's, do not work in here; the entry registers what it needs.
      execArgv: [],
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: heap },
    });
    // A waiting thread must not keep the process from ending.
    this.#worker.unref();
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    void this.#ended.then(() => {
      this.alive = false;
      this.#clock?.close();
      this.#answer?.('ended');
    });
    // `exit` follows; without a listener the error would end the process.
    this.#worker.on('error', () => {});
    this.#worker.on('message', (message: unknown) => {
      const report: Report<Result> = this.#clock === undefined ? 'ready' : { result: message as Result };
      if (report === 'ready') this.#clock = new ProcessorClock(message as ThreadPlace);
      if (this.#answer) this.#answer(report);
      else if (report !== 'ready') this.#early.push(report);
    });
  }

  /**
   * Does `job`, each of its results within `millis` of a processor (`Deadline`), counted from when the thread turns to it. Not to be
   * called before the last job ended.
   * @param count of results that the job has
   * @param lent memory that is the thread's from now on
   * @throws NoThread where the thread does not start
   */
  async run(job: Job, count: number, millis: number, lent: readonly Transferable[] = []): Promise<Done<Result>> {
    this.#worker.ref();
    const results: Result[] = [];
    try {
      if (this.#clock === undefined && (await this.#next(startMillis)) !== 'ready') {
        void this.close();
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
