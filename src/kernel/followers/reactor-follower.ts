import { setTimeout as pause } from 'node:timers/promises';
import { publish } from '../../telemetry.ts';
import { CorruptStream } from '../aggregate/fold.ts';
import type { Ours } from '../store/ownership.ts';
import { type EventStore, type Recorded, StoreDamaged, type Subscription } from '../store/store.ts';
import { checkpointAfter, endOfLog, type KeptCheckpoint, type Lasts, placeOf } from './checkpoint.ts';
import { type HaltedFollower, reportHalted } from './halted-follower.ts';

/** Answers events with commands. A repeated reaction must be harmless. */
export interface Reactor {
  readonly name: string;
  /** Raised when its reaction to old events has changed, so that it begins again. */
  readonly version: number;
  /** Where a new one begins: at the first event, or behind the existing ones. */
  readonly begins: 'at the start' | 'at the end';
  readonly categories: readonly string[];
  react(event: Recorded): Promise<void>;
}

/** Foreign events that are passed over again after a restart, at most. */
const maxPassed = 10_000;
/** 25 s after the first try at the earliest. */
const triesUntilHalted = 8;
const maxRetryMs = 30_000;

export interface FollowedLog {
  readonly store: Pick<EventStore, 'readAll' | 'subscribe'>;
  readonly logId: string;
  readonly lasts: Lasts;
  readonly ours: Ours;
  readonly retryMs: number;
}

/** Passes events to one reactor in order, and repeats a reaction that fails. */
export class ReactorFollower {
  readonly reactor: Reactor;
  readonly #log: FollowedLog;
  readonly #closing = new AbortController();
  checkpoint: KeptCheckpoint | undefined;
  halted: HaltedFollower | undefined;
  #written: KeptCheckpoint | undefined;
  /** Foreign events since the checkpoint was written. */
  #passed = 0;
  #subscription: Subscription | undefined;

  constructor(reactor: Reactor, log: FollowedLog, checkpoint?: KeptCheckpoint) {
    this.reactor = reactor;
    this.#log = log;
    this.checkpoint = checkpoint;
    this.#written = checkpoint;
  }

  get isUnwritten(): boolean {
    return this.checkpoint !== this.#written;
  }

  get isDue(): boolean {
    const { checkpoint } = this;
    return checkpoint !== undefined && (checkpoint.position !== this.#written?.position || this.#passed >= maxPassed);
  }

  written(checkpoint: KeptCheckpoint): void {
    this.#written = checkpoint;
    this.#passed = 0;
  }

  async skipToEnd(): Promise<void> {
    const end = await endOfLog(this.#log.store, this.#log);
    this.checkpoint = end && { ...end, version: this.reactor.version };
  }

  follow(): void {
    const { store } = this.#log;
    this.#subscription = store.subscribe({
      after: this.checkpoint ? placeOf(this.checkpoint) : null,
      deliver: (batch) => this.#deliver(batch),
      failed: (error) => {
        this.halted ??= reportHalted({ follower: this.reactor.name, error });
      },
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#subscription?.close();
  }

  async #deliver(batch: readonly Recorded[]): Promise<void> {
    const mine = this.#log.ours(batch);
    let handled = 0;
    for (const [index, event] of mine.entries()) {
      if (!this.reactor.categories.includes(event.stream.slice(0, event.stream.indexOf('-')))) continue;
      if (!(await this.#reactTo(event))) return;
      this.#advance(mine.slice(handled, index + 1), event.position);
      handled = index + 1;
    }
    this.#advance(mine.slice(handled), batch.at(-1)!.position);
    this.#passed += batch.length - mine.length;
  }

  #advance(mine: readonly Recorded[], end: bigint): void {
    const next = checkpointAfter(this.checkpoint, this.#log, mine, end);
    this.checkpoint = next && { ...next, version: this.reactor.version };
  }

  /** @returns false where it was closed before the reaction succeeded */
  async #reactTo(event: Recorded): Promise<boolean> {
    const { name } = this.reactor;
    const { signal } = this.#closing;
    for (let tries = 1, wait = this.#log.retryMs; !signal.aborted; tries++, wait = Math.min(wait * 2, maxRetryMs)) {
      try {
        await this.reactor.react(event);
        if (tries > 1) publish('follower.resumed', { follower: name });
        this.halted = undefined;
        return true;
      } catch (error) {
        const isFinal = error instanceof StoreDamaged || error instanceof CorruptStream;
        if (isFinal || tries === triesUntilHalted) {
          this.halted = reportHalted({ follower: name, at: event, error: error as Error });
        } else if (tries === 1) publish('reaction.failed', { reactor: name, stream: event.stream, error });
        if (isFinal) throw error;
        await pause(wait, undefined, { signal }).catch(() => {});
      }
    }
    return false;
  }
}
