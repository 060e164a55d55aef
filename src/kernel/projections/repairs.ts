import { publish } from '../../telemetry.ts';
import { isBefore } from '../followers/checkpoint.ts';
import { lookAhead } from '../look-ahead.ts';
import { damageOf, lookAtRows } from '../rows/row-file.ts';
import type { ReadModelOptions } from './read-models.ts';
import { type Follower, leastOf, type RowFollowers } from './row-followers.ts';
import { type RepairOptions, repair } from './row-repair.ts';

type Told = Pick<ReadModelOptions, 'dir' | 'committed' | 'damaged'>;

export class Repairs {
  readonly #followers: RowFollowers;
  readonly #options: Omit<RepairOptions, 'met'> & Told;
  readonly #running = new Map<Follower, () => Promise<void>>();
  #isLooking = false;
  #isEnding = false;

  constructor(followers: RowFollowers, options: Omit<RepairOptions, 'met'> & Told) {
    this.#followers = followers;
    this.#options = options;
  }

  start(): void {
    for (const follower of this.#followers.all) {
      if (follower.repair === 'rebuilding') this.#rebuild(follower);
      else if (follower.repair) this.#inTurn(() => this.#begin(follower));
    }
  }

  /** Reports damage met by a read. A range may be short without an error, so nothing is read until the whole file is checked. */
  found(follower: Follower, error: Error): void {
    this.#isDamaged(follower, error);
    if (!this.#followers.isOpen || this.#isLooking || this.#isEnding) return;
    this.#isLooking = true;
    for (const each of this.#followers.all) this.#followers.hidden.hide(each);
    this.#inTurn(() => this.#lookAtAll());
  }

  stop(): void {
    this.#isEnding = true;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#running.values()].map((end) => end()));
    this.#running.clear();
  }

  #inTurn(task: () => Promise<void>): void {
    this.#options.inTurn(task).catch(this.#options.failed);
  }

  #isDamaged(follower: Follower, error: Error): void {
    const { name, tables } = follower.projection;
    if (follower.repair === 'damaged') return;
    follower.repair = 'damaged';
    this.#followers.hidden.hide(follower);
    publish('rows.damaged', { projections: [name], error });
    this.#options.damaged?.(tables);
    if (this.#followers.isOpen) this.#inTurn(() => this.#begin(follower));
  }

  async #lookAtAll(): Promise<void> {
    const { dir, committed } = this.#options;
    const look = (await lookAhead(dir)) ?? lookAtRows(dir);
    this.#isLooking = false;
    for (const follower of this.#followers.all) {
      const damage = look.lost ?? follower.projection.tables.map(({ name }) => damageOf(look, name)).find(Boolean);
      if (damage) this.#isDamaged(follower, damage);
      else if (!follower.repair) this.#followers.hidden.show(follower);
    }
    committed?.([]);
  }

  async #begin(follower: Follower): Promise<void> {
    if (follower.repair !== 'damaged' || this.#isEnding) return;
    void this.#running.get(follower)?.();
    this.#followers.clear(follower);
    follower.repair = 'rebuilding';
    this.#rebuild(follower);
  }

  #rebuild(follower: Follower): void {
    const met = (): void => {
      const others = leastOf(this.#followers.active);
      if (isBefore(follower.position, others)) follower.position = others;
      follower.repair = undefined;
      this.#followers.hidden.show(follower);
      this.#followers.waiters.look();
      this.#options.committed?.([]);
    };
    this.#running.set(follower, repair(follower, { ...this.#options, met }));
  }
}
