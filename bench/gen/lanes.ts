import type { Load } from './sample.ts';

/** A fixed number of tasks in flight: each lane starts its next when its last is over. */
export class Lanes implements Load {
  done = 0;
  readonly bytes = 0;
  failure: Error | undefined;
  #stopping = false;
  readonly #running: readonly Promise<void>[];

  /** @param task does one piece of work for the lane with the given number */
  constructor(count: number, task: (lane: number) => Promise<unknown>) {
    this.#running = Array.from({ length: count }, async (_, lane) => {
      try {
        while (!this.#stopping) {
          await task(lane);
          this.done++;
        }
      } catch (error) {
        this.failure ??= error as Error;
        this.#stopping = true;
      }
    });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#running);
  }
}
