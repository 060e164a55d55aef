import { setImmediate as nextTurn } from 'node:timers/promises';
import { CAUGHT_UP } from '../codec/read-response.ts';
import type { Faults } from '../faults.ts';
import type { Call } from '../grpc/call.ts';
import { frame } from '../grpc/framing.ts';
import type { Limits } from '../limits.ts';
import { Page } from '../store/read/page.ts';
import { asDamage } from '../store/records/corrupt.ts';
import type { Listener } from './hub.ts';
import type { LiveBatch } from './live-batch.ts';

/** What a subscription follows: a cursor through the past that can also take live records. */
export interface Source {
  /** Adds the next part of the past to a page. */
  fill(page: Page): void;
  /** Everything committed has been given out. */
  readonly done: boolean;
  /** Adds what comes before the caught-up message. */
  beforeCaughtUp(page: Page): void;
  /** Adds the live records that belong to it, and moves on behind them. */
  live(batch: LiveBatch, send: (frames: Buffer, messages: number) => void): void;
  /** Moves on to the end without giving anything out; only a test's canary does that. */
  skip(): void;
  /** The error with which the followed stream has ended for good, once everything before has been given out. */
  readonly ending: Error | undefined;
}

const framedCaughtUp = frame(CAUGHT_UP);

/**
 * One subscription: history from disk until there is none left, then live. A subscriber that does not keep up is
 * sent back to the disk from where it stands, so nothing beyond the limits is ever kept in memory for it.
 */
export class Subscription implements Listener {
  private readonly call: Call;
  private readonly source: Source;
  private readonly limits: Limits;
  private readonly faults: Faults;
  private live = false;

  constructor(call: Call, source: Source, limits: Limits, faults: Faults) {
    this.call = call;
    this.source = source;
    this.limits = limits;
    this.faults = faults;
  }

  /** Gives out the past and goes live. Never rejects: an error ends the call. */
  async catchUp(): Promise<void> {
    const { call, source } = this;
    try {
      for (;;) {
        if (call.congested) await call.room();
        if (call.over) return;
        const page = new Page();
        source.fill(page);
        if (source.done) {
          // In the same turn as the empty rest: no commit can come between the look and going live.
          source.beforeCaughtUp(page);
          this.send(page);
          if (source.ending !== undefined) {
            call.fail(source.ending);
            return;
          }
          call.send(framedCaughtUp);
          this.live = true;
          return;
        }
        this.send(page);
        await nextTurn();
      }
    } catch (error) {
      call.fail(asDamage(error, 'The file of the store'));
    }
  }

  onLive(batch: LiveBatch): void {
    if (!this.live || this.call.over) return;
    const { call, source, limits } = this;
    if (
      this.faults.forceLag ||
      call.unsent > limits.liveBacklogBytes ||
      call.unsentMessages > limits.liveBacklogMessages
    ) {
      this.live = false;
      if (this.faults.loseOnLag) source.skip();
      void this.resume();
      return;
    }
    try {
      source.live(batch, (frames, messages) => call.send(frames, messages));
      if (source.ending !== undefined) call.fail(source.ending);
    } catch (error) {
      call.fail(asDamage(error, 'The file of the store'));
    }
  }

  private async resume(): Promise<void> {
    await this.call.room();
    await nextTurn();
    await this.catchUp();
  }

  private send(page: Page): void {
    if (page.messages > 0) this.call.send(page.take(), page.messages);
  }
}
