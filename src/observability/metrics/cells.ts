/** Seconds. */
const overheadBounds = [
  0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
];
const latencyBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** A histogram that costs a request only additions. */
export class Distribution {
  readonly bounds: readonly number[];
  /** By bound, not cumulative; the last is above all bounds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  get isUsed(): boolean {
    return this.counts.some((count) => count > 0);
  }

  add(seconds: number): void {
    const { bounds } = this;
    let at = 0;
    while (at < bounds.length && seconds > bounds[at]!) at += 1;
    this.counts[at]! += 1;
    this.sum += seconds;
  }
}

export const latencies = (): Distribution => new Distribution(latencyBounds);
export const overheads = (): Distribution => new Distribution(overheadBounds);

const leastStatus = 100;
const statuses = 500;

export class ByStatus {
  readonly #counts = new Float64Array(statuses);

  add(status: number): void {
    this.#counts[status - leastStatus]! += 1;
  }

  *[Symbol.iterator](): Generator<readonly [status: number, count: number], void> {
    for (const [at, count] of this.#counts.entries()) if (count > 0) yield [at + leastStatus, count];
  }
}
