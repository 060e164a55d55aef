/**
 * Slots whose records have changed since they were last in a snapshot, each once, first come first out: while changes keep
 * coming, none waits for ever.
 */
export class ChangeList {
  /** A ring; its length is a power of two. */
  #slots = new Int32Array(1024);
  #queued = new Uint8Array(1024);
  #first = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(slot: number): void {
    if (slot >= this.#queued.length) {
      const queued = this.#queued;
      this.#queued = new Uint8Array(Math.max(slot + 1, queued.length * 2));
      this.#queued.set(queued);
    }
    if (this.#queued[slot] === 1) return;
    if (this.#length === this.#slots.length) this.#lengthen();
    this.#queued[slot] = 1;
    this.#slots[(this.#first + this.#length) & (this.#slots.length - 1)] = slot;
    this.#length++;
  }

  /** Takes one out; -1 when there is none. */
  take(): number {
    if (this.#length === 0) return -1;
    const slot = this.#slots[this.#first]!;
    this.#first = (this.#first + 1) & (this.#slots.length - 1);
    this.#length--;
    this.#queued[slot] = 0;
    return slot;
  }

  #lengthen(): void {
    const slots = this.#slots;
    this.#slots = new Int32Array(slots.length * 2);
    this.#slots.set(slots.subarray(this.#first));
    this.#slots.set(slots.subarray(0, this.#first), slots.length - this.#first);
    this.#first = 0;
  }
}
