/**
 * A map that never changes: each change makes another version, at a cost that does not grow with what is in it, so that an
 * aggregate with ten thousand events behind it is folded in linear time.
 *
 * One hash table serves all versions (H. G. Baker, "Shallow binding makes functional arrays fast", 1991): the version that
 * was asked last owns it, each other knows in what it differs from a neighbour. An older version is read at the price of
 * the changes in between, which are undone and remembered the other way round.
 */
export class PersistentMap<V extends object | string> {
  readonly size: number;
  /** Only of the version that owns it. */
  #table: Map<string, V> | undefined;
  /** Of the others: they hold what `#neighbour` does, but for this one key. */
  #neighbour: PersistentMap<V> | undefined;
  #key = '';
  #value: V | undefined;

  private constructor(size: number, table: Map<string, V>) {
    this.size = size;
    this.#table = table;
  }

  static empty<V extends object | string>(): PersistentMap<V> {
    return new PersistentMap<V>(0, new Map());
  }

  has(key: string): boolean {
    return this.size > 0 && this.#own().has(key);
  }

  get(key: string): V | undefined {
    return this.size > 0 ? this.#own().get(key) : undefined;
  }

  with(key: string, value: V): PersistentMap<V> {
    // What is empty may be the beginning of many maps, which had better not share a table.
    if (this.size === 0) return new PersistentMap(1, new Map([[key, value]]));
    return this.#changed(key, value, this.has(key) ? 0 : 1);
  }

  without(key: string): PersistentMap<V> {
    return this.has(key) ? this.#changed(key, undefined, -1) : this;
  }

  /** In no order that means anything. */
  keys(): string[] {
    return this.size > 0 ? [...this.#own().keys()] : [];
  }

  entries(): [string, V][] {
    return this.size > 0 ? [...this.#own()] : [];
  }

  toJSON(): Readonly<Record<string, V>> {
    return Object.fromEntries(this.entries());
  }

  #changed(key: string, value: V | undefined, more: number): PersistentMap<V> {
    const next = new PersistentMap(this.size + more, this.#own());
    this.#yieldTo(next, key, value);
    return next;
  }

  /** Hands the table over to a version that differs in one key. */
  #yieldTo(next: PersistentMap<V>, key: string, value: V | undefined): void {
    const table = this.#table as Map<string, V>;
    this.#key = key;
    this.#value = table.get(key);
    this.#neighbour = next;
    this.#table = undefined;
    next.#table = table;
    next.#neighbour = undefined;
    next.#value = undefined;
    if (value === undefined) table.delete(key);
    else table.set(key, value);
  }

  /** The table as it is in this version. */
  #own(): Map<string, V> {
    const between: PersistentMap<V>[] = [];
    let owner: PersistentMap<V> = this;
    while (!owner.#table) {
      between.push(owner);
      owner = owner.#neighbour as PersistentMap<V>;
    }
    for (const version of between.reverse()) {
      owner.#yieldTo(version, version.#key, version.#value);
      owner = version;
    }
    return owner.#table as Map<string, V>;
  }
}

/** A set of ids, in the same way. */
export class PersistentSet {
  readonly #map: PersistentMap<object>;

  private constructor(map: PersistentMap<object>) {
    this.#map = map;
  }

  static empty(): PersistentSet {
    return new PersistentSet(PersistentMap.empty());
  }

  get size(): number {
    return this.#map.size;
  }

  has(id: string): boolean {
    return this.#map.has(id);
  }

  with(id: string): PersistentSet {
    return new PersistentSet(this.#map.with(id, present));
  }

  without(id: string): PersistentSet {
    return new PersistentSet(this.#map.without(id));
  }

  /** In no order that means anything. */
  ids(): string[] {
    return this.#map.keys();
  }

  /** In order, so that equal sets are written alike whatever happened to them before. */
  toJSON(): string[] {
    return this.ids().sort();
  }
}

const present = {};
