import { type Transferable, Worker } from 'node:worker_threads';

/** Starting takes 50 ms, and seconds when tsx compiles on a busy machine; it is not part of any deadline. */
const startMillis = 15_000;

/** There is no thread for a job. The job has no part in it. */
export class NoThread extends Error {
  override readonly name = 'NoThread';
}

/** How a worker thread begins. Its entry says `ready` once it listens, and then one thing for each result of a job. */
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
  /** Why there are no more of them; null where all are there. The thread has ended then. */
  readonly cut: 'late' | 'ended' | null;
}

type Report<Result> = { readonly result: Result } | 'ready' | 'ended' | 'late';

/** A worker thread that does one job at a time. A job past its deadline takes the thread with it. */
export class WorkerThread<Job, Result> {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #answer: ((report: Report<Result>) => void) | undefined;
  /** Results that came before they were waited for. */
  readonly #early: Report<Result>[] = [];
  #ready = false;
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
      this.#answer?.('ended');
    });
    // `exit` follows; without a listener the error would end the process.
    this.#worker.on('error', () => {});
    this.#worker.on('message', (message: unknown) => {
      const report: Report<Result> = message === 'ready' ? message : { result: message as Result };
      if (this.#answer) this.#answer(report);
      else if (report !== 'ready') this.#early.push(report);
    });
  }

  /**
   * Does `job`, each of its results within `millis`, counted from when the thread turns to it. Not to be called before the last
   * job ended.
   * @param count of results that the job has
   * @param lent memory that is the thread's from now on
   * @throws NoThread where the thread does not start
   */
  async run(job: Job, count: number, millis: number, lent: readonly Transferable[] = []): Promise<Done<Result>> {
    this.#worker.ref();
    const results: Result[] = [];
    try {
      if (!this.#ready) {
        if ((await this.#next(startMillis)) !== 'ready') {
          void this.close();
          throw new NoThread('the thread did not start');
        }
        this.#ready = true;
      }
      this.#worker.postMessage(job, lent);
      while (results.length < count) {
        const report = this.#early.shift() ?? (await this.#next(millis));
        if (typeof report === 'object') results.push(report.result);
        else {
          void this.close();
          return { results, cut: report === 'late' ? report : 'ended' };
        }
      }
      return { results, cut: null };
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
