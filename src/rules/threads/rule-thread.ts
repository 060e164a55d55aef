import { Worker } from 'node:worker_threads';
import { failed } from '../score.ts';
import type { Job, Report, Result } from './job.ts';

/** Starting takes 50 ms, and seconds when tsx compiles on a busy machine; it is not part of any deadline. */
const startMillis = 15_000;

/** By the folder above: this module also runs as a part of `cli/program.js`, a folder beside this one. */
const workerEntry = new URL('../worker-entry.mjs', import.meta.url);

/** There is no thread for a job. The rule has no part in it. */
export class NoThread extends Error {
  override readonly name = 'NoThread';
}

/** A worker thread that evaluates one job at a time. A job past its deadline takes the thread with it. */
export class RuleThread {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #answer: ((report: Report | 'ended' | 'late') => void) | undefined;
  #ready = false;
  alive = true;

  constructor() {
    this.#worker = new Worker(workerEntry, {
      // Loaders of the parent, such as vitest's, do not work in here; the entry registers what it needs.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 512 },
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
    this.#worker.on('message', (report: Report) => this.#answer?.(report));
  }

  /**
   * Does `job` within `millis`, counted from when the thread has it. Not to be called before the last one ended.
   * @throws NoThread where the thread does not start
   */
  async run(job: Job, millis: number): Promise<Result> {
    this.#worker.ref();
    try {
      if (!this.#ready) {
        const report = await this.#next(startMillis);
        if (report !== 'ready') {
          void this.close();
          throw new NoThread('the thread did not start');
        }
        this.#ready = true;
      }
      const report = this.#next(millis);
      this.#worker.postMessage(job);
      const result = await report;
      if (result === 'late') return this.#lost('the evaluation took too long');
      return typeof result === 'string' ? this.#lost('the thread ended') : result;
    } finally {
      if (this.alive) this.#worker.unref();
    }
  }

  async close(): Promise<void> {
    this.alive = false;
    await this.#worker.terminate();
    await this.#ended;
  }

  #lost(why: string): Result {
    void this.close();
    return failed(why);
  }

  #next(millis: number): Promise<Report | 'ended' | 'late'> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle('late'), millis);
      const settle = (report: Report | 'ended' | 'late') => {
        clearTimeout(timer);
        this.#answer = undefined;
        resolve(report);
      };
      this.#answer = settle;
      if (!this.alive) settle('ended');
    });
  }
}
