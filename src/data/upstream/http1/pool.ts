import { type Asked, type Asker, Connection, type Keeper, type Origin } from './connection.ts';
import type { HttpRequest } from './request.ts';
import type { Sweep } from './sweep.ts';

/** The connections to one origin, last used first, so that surplus ones expire. */
export class Pool implements Keeper {
  readonly sweep: Sweep;
  readonly #origin: Origin;
  readonly #most: number;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting = new Map<Asker, HttpRequest>();
  #closed: (() => void) | null = null;
  #closing: Promise<void> | null = null;

  /** @param connections at most; further requests wait */
  constructor(origin: Origin, connections: number, sweep: Sweep) {
    this.#origin = origin;
    this.#most = connections;
    this.sweep = sweep;
  }

  /** Before it returns, only `taken` or `failed` (pool closed) may be called. */
  ask(request: HttpRequest, asker: Asker): void {
    if (this.#closing !== null) {
      asker.failed(new Error('the pool has been closed'), false);
      return;
    }
    const connection = this.#usable();
    if (connection !== undefined) connection.ask(request, asker);
    else if (this.#all.size < this.#most) this.#dial(request, asker);
    else this.#waiting.set(asker, request);
  }

  forget(asker: Asker): void {
    this.#waiting.delete(asker);
    this.#endIfDone();
  }

  free(connection: Connection): void {
    const next = this.#next();
    if (next !== undefined) connection.ask(...next);
    else if (this.#closing !== null) connection.destroy();
    else this.#idle.push(connection);
  }

  gone(connection: Connection, again: Asked | null): void {
    this.sweep.forget(connection);
    this.#all.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    const next = again ?? this.#next();
    if (next !== undefined) this.#dial(...next);
    this.#endIfDone();
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#closed = resolve;
    });
    for (const connection of [...this.#idle]) connection.destroy();
    this.#endIfDone();
    return this.#closing;
  }

  /** Not one whose time is over: the upstream may just have closed it. */
  #usable(): Connection | undefined {
    const connection = this.#idle.pop();
    if (connection === undefined || connection.dueAt > this.sweep.now()) return connection;
    connection.destroy();
    return this.#usable();
  }

  #dial(request: HttpRequest, asker: Asker): void {
    const connection = new Connection(this.#origin, this);
    this.#all.add(connection);
    connection.ask(request, asker);
  }

  #next(): Asked | undefined {
    for (const [asker, request] of this.#waiting) {
      this.#waiting.delete(asker);
      return [request, asker];
    }
    return undefined;
  }

  #endIfDone(): void {
    if (this.#closed !== null && this.#all.size === 0 && this.#waiting.size === 0) this.#closed();
  }
}
