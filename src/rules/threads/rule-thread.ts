import { Worker } from 'node:worker_threads';
import { failed } from '../score.ts';
import { workerEntry } from '../worker-place.ts';
import type { Job, Report, Result } from './job.ts';

/** Starting takes 50 ms, and seconds when tsx compiles on a busy machine; it is not part of any deadline. */
const startMillis = 15_000;

/** There is no thread for a job. The rule has no part in it. */
export class NoThread extends Error {
  override readonly name = 'NoThread';
}

/** A worker thread that evaluates one job at a time. A job past its deadline takes the thread with it. */
export class RuleThread {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #answer: ((report: Report | 'ended' | 'late') => void) | undefined;
  /** Results that came before they were waited for. */
  readonly #early: Result[] = [];
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
    this.#worker.on('message', (report: Report) => {
      if (this.#answer) this.#answer(report);
      else if (report !== 'ready') this.#early.push(report);
    });
  }

  /**
   * Does `job`, each of its rules within `millis`, counted from when the thread turns to it. Not to be called before the last
   * job ended.
   * @param count of results that the job has
   * @returns one for each rule; fewer where one has taken the thread with it, which is then the last
   * @throws NoThread where the thread does not start
   */
  async run(job: Job, count: number, millis: number): Promise<readonly Result[]> {
    this.#worker.ref();
    const results: Result[] = [];
    try {
      if (!this.#ready) {
        const report = await this.#next(startMillis);
        if (report !== 'ready') {
          void this.close();
          throw new NoThread('the thread did not start');
        }
        this.#ready = true;
      }
      this.#worker.postMessage(job);
      while (results.length < count) {
        const report = this.#early.shift() ?? (await this.#next(millis));
        if (report === 'late') results.push(failed('the evaluation took too long'));
        else if (typeof report === 'string') results.push(failed('the thread ended'));
        else results.push(report);
        if (typeof report !== 'string') continue;
        void this.close();
        break;
      }
      return results;
    } finally {
      if (this.alive) this.#worker.unref();
    }
  }

  async close(): Promise<void> {
    this.alive = false;
    await this.#worker.terminate();
    await this.#ended;
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
