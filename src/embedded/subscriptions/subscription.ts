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

/** A cursor through the past that can also take live records. */
export interface Source {
  fill(page: Page): void;
  readonly done: boolean;
  /** Adds what precedes the caught-up message. */
  beforeCaughtUp(page: Page): void;
  /** Sends the matching live records, and moves behind them. */
  live(batch: LiveBatch, send: (frames: Buffer, messages: number) => void): void;
  /** Moves to the end without sending; only for a test's canary. */
  skip(): void;
  /** The error with which the stream has ended for good. */
  readonly ending: Error | undefined;
}

const framedCaughtUp = frame(CAUGHT_UP);

/** History from disk, then live. A subscriber that is too slow reads from disk again, so that memory stays bounded. */
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

  /** Sends the past and goes live. Never rejects: an error ends the call. */
  async catchUp(): Promise<void> {
    const { call, source } = this;
    try {
      for (;;) {
        if (call.congested) await call.room();
        if (call.over) return;
        const page = new Page();
        source.fill(page);
        if (source.done) {
          // In the same turn as the last page, so that no commit can come between.
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
