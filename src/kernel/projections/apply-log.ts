import { catchingUp } from '../followers/catching-up.ts';
import { checkpointAfter, isBefore, type Lasts } from '../followers/checkpoint.ts';
import type { RowReader } from '../rows/rows.ts';
import { readPage } from '../store/log-page.ts';
import type { Ours } from '../store/ownership.ts';
import type { EventStore, Recorded } from '../store/store.ts';
import { type Applied, applyBatch } from './apply-batch.ts';
import type { ReadModelOptions } from './read-models.ts';
import { type Follower, leastOf, type RowFollowers } from './row-followers.ts';
import type { RowWriter, WrittenStep } from './row-writer.ts';

/** Foreign events that are passed over again after a restart, at most. */
const maxPassed = 10_000;

export interface Step extends WrittenStep {
  readonly follower: Follower;
  readonly failure: Applied['failure'];
  readonly position: bigint | null;
}

interface AppliedLog extends Pick<ReadModelOptions, 'committing' | 'committed'> {
  readonly store: Pick<EventStore, 'readAll'>;
  readonly logId: string;
  readonly lasts: Lasts;
  readonly ours: Ours;
}

export class LogApplier {
  /** Position of the last event of ours that the active followers have. */
  lastOfOurs: bigint | null = null;
  readonly #followers: RowFollowers;
  readonly #writer: RowWriter;
  readonly #log: AppliedLog;
  readonly #progress: ReturnType<typeof catchingUp>;
  /** Until callers read the rows, many batches are written together. */
  #isBulkLoad = true;
  /** Foreign events since the checkpoints were written. */
  #passed = 0;

  constructor(followers: RowFollowers, writer: RowWriter, log: AppliedLog) {
    this.#followers = followers;
    this.#writer = writer;
    this.#log = log;
    this.#progress = catchingUp(log.store, () => leastOf(followers.active));
  }

  resume(): void {
    for (const { checkpoint } of this.#followers.active) {
      const handled = checkpoint ? BigInt(checkpoint.position) : null;
      if (isBefore(this.lastOfOurs, handled)) this.lastOfOurs = handled;
    }
  }

  reset(): void {
    this.#passed = 0;
    this.lastOfOurs = null;
  }

  /** The changes of one follower, and where it halts. */
  step(follower: Follower, mine: readonly Recorded[], end: bigint, stored: Pick<RowReader, 'get'>): Step {
    const { projection, position, repair } = follower;
    const fresh = mine.filter((event) => isBefore(position, event.position));
    const { changes, failure } = applyBatch(projection, fresh, stored);
    const handled = failure ? fresh.slice(0, fresh.indexOf(failure.event)) : fresh;
    const upTo = failure ? (handled.at(-1)?.position ?? position) : end;
    const next = upTo === null ? undefined : checkpointAfter(follower.checkpoint, this.#log, handled, upTo);
    const checkpoint = next && { ...next, version: projection.version, ...(repair && { isApart: true as const }) };
    return { follower, changes, failure, position: upTo, checkpoint };
  }

  async apply(batch: readonly Recorded[]): Promise<void> {
    const end = batch.at(-1)?.position ?? null;
    if (end === null) return;
    const mine = this.#log.ours(batch);
    const last = mine.at(-1)?.position ?? null;
    if (isBefore(this.lastOfOurs, last)) this.lastOfOurs = last;
    const concerned = this.#followers.active.filter(({ position }) => isBefore(position, end));
    if (concerned.length === 0) return;
    this.#passed = mine.length > 0 ? 0 : this.#passed + batch.length;
    if (mine.length > 0 || this.#passed >= maxPassed) {
      if (!(await this.#write(concerned, mine, end))) return;
    } else {
      for (const follower of concerned) follower.position = end;
    }
    this.#followers.waiters.look();
    if (this.#isBulkLoad) this.#progress.came(batch.length);
  }

  async #write(concerned: readonly Follower[], mine: readonly Recorded[], end: bigint): Promise<boolean> {
    const announced = mine.length > 0 && this.#followers.isOpen;
    const all = concerned.map((follower) => this.step(follower, mine, end, this.#writer));
    if (announced) this.#log.committing?.(mine);
    const steps = all.filter(({ follower }) => !follower.repair);
    if (!(await (this.#isBulkLoad ? this.#writer.load(steps) : this.#writer.write(steps)))) return false;
    this.#passed = 0;
    for (const { follower, failure, position, checkpoint } of steps) {
      follower.position = position;
      follower.checkpoint = checkpoint;
      if (failure) this.#followers.halt(follower, failure.error, failure.event);
    }
    if (mine.length > 0 && this.#followers.isOpen) this.#log.committed?.(mine);
    return true;
  }

  /** Reads the log for the followers that are behind, until all are equally far. */
  async level(deliver: (batch: readonly Recorded[]) => Promise<void>): Promise<void> {
    for (;;) {
      const furthest = this.#followers.active.reduce<bigint | null>(
        (most, { position }) => (isBefore(most, position) ? position : most),
        null,
      );
      const from = leastOf(this.#followers.active);
      if (!isBefore(from, furthest)) return;
      const { events, isLast } = await readPage(this.#log.store, from);
      await deliver(events);
      if (!isLast) continue;
      for (const follower of this.#followers.active) {
        if (isBefore(follower.position, furthest)) follower.position = furthest;
      }
    }
  }

  async endBulkLoad(): Promise<void> {
    if (!this.#isBulkLoad) return;
    this.#isBulkLoad = false;
    await this.#writer.loaded();
    this.#progress.done();
  }
}
