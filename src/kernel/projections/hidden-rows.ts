import type { HaltedFollower } from '../followers/halted-follower.ts';
import type { Table } from '../rows/rows.ts';
import type { Projection } from './apply-batch.ts';

interface Follower {
  readonly projection: Projection;
  readonly halted: HaltedFollower | undefined;
}

interface Waiter {
  readonly followers: readonly Follower[];
  resolve(): void;
  reject(error: Error): void;
}

/** The tables that cannot be read now, because their rows are being rebuilt. */
export class HiddenRows {
  readonly #keeper: (table: Table<unknown>) => Follower;
  readonly #absent: (projection: string) => Error;
  readonly #followers = new Set<Follower>();
  readonly #tables = new Set<string>();
  readonly #waiters = new Set<Waiter>();

  constructor(keeper: (table: Table<unknown>) => Follower, absent: (projection: string) => Error) {
    this.#keeper = keeper;
    this.#absent = absent;
  }

  get names(): string[] {
    return [...this.#followers].map(({ projection }) => projection.name);
  }

  hide(follower: Follower): void {
    this.#followers.add(follower);
    for (const { name } of follower.projection.tables) this.#tables.add(name);
  }

  show(follower: Follower): void {
    this.#followers.delete(follower);
    for (const { name } of follower.projection.tables) this.#tables.delete(name);
    this.look();
  }

  check(table: Table<unknown>): void {
    if (this.#tables.has(table.name)) throw this.#absent(this.#keeper(table).projection.name);
  }

  /** Resolves once none of these tables is hidden; rejects when the projection of one has halted. */
  whole(tables: readonly Table<object>[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.add({ followers: [...new Set(tables.map(this.#keeper))], resolve, reject });
      this.look();
    });
  }

  look(): void {
    for (const waiter of this.#waiters) {
      const hidden = waiter.followers.filter((follower) => this.#followers.has(follower));
      const halted = hidden.find((follower) => follower.halted)?.halted;
      if (hidden.length > 0 && !halted) continue;
      this.#waiters.delete(waiter);
      if (halted) waiter.reject(halted.error);
      else waiter.resolve();
    }
  }
}
