/** Slots whose records have changed since they were last in a snapshot, each once. */
export class ChangeList {
  #slots = new Int32Array(1024);
  #queued = new Uint8Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(slot: number): void {
    if (slot >= this.#queued.length) {
      const longer = Math.max(slot + 1, this.#queued.length * 2);
      const [slots, queued] = [this.#slots, this.#queued];
      this.#slots = new Int32Array(longer);
      this.#slots.set(slots);
      this.#queued = new Uint8Array(longer);
      this.#queued.set(queued);
    }
    if (this.#queued[slot] === 1) return;
    this.#queued[slot] = 1;
    this.#slots[this.#length++] = slot;
  }

  /** Takes one out; -1 when there is none. */
  take(): number {
    if (this.#length === 0) return -1;
    const slot = this.#slots[--this.#length]!;
    this.#queued[slot] = 0;
    return slot;
  }
}
