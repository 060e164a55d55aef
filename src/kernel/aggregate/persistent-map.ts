/**
 * An immutable map whose changes cost the same whatever its size, so that ten thousand events fold in linear time.
 * One hash table serves all versions (H. G. Baker, "Shallow binding makes functional arrays fast", 1991): the version read last
 * owns it, each other holds its difference from a neighbour. Reading an older version undoes the changes in between.
 */
export class PersistentMap<V extends object | string> {
  readonly size: number;
  /** Set in the owning version only. */
  #table: Map<string, V> | undefined;
  /** Set in the others: they equal `#neighbour` except for this key. */
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
    // Many maps may start from one empty map; they should not share a table.
    if (this.size === 0) return new PersistentMap(1, new Map([[key, value]]));
    return this.#changed(key, value, this.has(key) ? 0 : 1);
  }

  without(key: string): PersistentMap<V> {
    return this.has(key) ? this.#changed(key, undefined, -1) : this;
  }

  /** In no particular order. */
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

  /** Gives the table to a version that differs in one key. */
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

  ids(): string[] {
    return this.#map.keys();
  }

  /** Sorted, so that equal sets have equal JSON. */
  toJSON(): string[] {
    return this.ids().sort();
  }
}

const present = {};
