/** Slots of one page of the table: 512 KiB. */
const pageShift = 16;
const pageMask = (1 << pageShift) - 1;
/** A handle is a slot and its generation in one exact double: 26 bits of slot, 27 of generation. */
const slotMask = 0x3ff_ffff;
const slotRange = slotMask + 1;
const lastGeneration = 0x7ff_ffff;

/** The handle of nothing: no slot has generation 0. */
export const noHandle = 0;

/**
 * Which record a slot has at present. Slots stay when records move, and their generation grows when they are freed, so a
 * handle from before finds nothing instead of somebody else's record. Ids are looked up when a credential is first seen,
 * never in the hot path.
 */
export class Slots {
  /** Two words a slot: address of the record (-1: none) and generation. Pages are only appended. */
  readonly pages: Int32Array[] = [];
  readonly #ids: (string | undefined)[] = [];
  readonly #byId: readonly Map<string, number>[];
  readonly #free: number[] = [];
  /** Slots ever handed out; the table is no longer than this. */
  length = 0;
  /**
   * Grows whenever the record of a slot in use moves, goes, or has other limits in force: until then whoever has looked an
   * address up may keep it.
   */
  epoch = 0;

  constructor(scopes: number) {
    this.#byId = Array.from({ length: scopes }, () => new Map<string, number>());
  }

  /** Slots in use. */
  get live(): number {
    return this.length - this.#free.length;
  }

  /** The slot that a handle names, or -1 when it is stale. */
  slotOf(handle: number): number {
    const slot = handle & slotMask;
    if (slot >= this.length) return -1;
    return this.handleOf(slot) === handle ? slot : -1;
  }

  handleOf(slot: number): number {
    return this.#generation(slot) * slotRange + slot;
  }

  /** Slot and the low bits of its generation: names it for the hour that a journal may be kept, not for ever. */
  tagOf(slot: number): number {
    return slot | ((this.#generation(slot) & 31) << 26);
  }

  /** Address of the slot's record; -1 when the slot is free. */
  address(slot: number): number {
    return this.pages[slot >>> pageShift]![(slot & pageMask) << 1]!;
  }

  move(slot: number, address: number): void {
    this.#setAddress(slot, address);
    this.epoch++;
  }

  find(scope: number, id: string): number | undefined {
    return this.#byId[scope]!.get(id);
  }

  idOf(slot: number): string | undefined {
    return this.#ids[slot];
  }

  take(scope: number, id: string, address: number): number {
    const slot = this.#free.pop() ?? this.#append();
    this.#setAddress(slot, address);
    this.#ids[slot] = id;
    this.#byId[scope]!.set(id, slot);
    return slot;
  }

  release(scope: number, slot: number): void {
    this.#byId[scope]!.delete(this.#ids[slot]!);
    this.#ids[slot] = undefined;
    this.move(slot, -1);
    const page = this.pages[slot >>> pageShift]!;
    const at = (slot & pageMask) << 1;
    // A slot that has used up its generations is never handed out again.
    if (page[at + 1]! < lastGeneration) {
      page[at + 1]!++;
      this.#free.push(slot);
    }
  }

  #generation(slot: number): number {
    return this.pages[slot >>> pageShift]![((slot & pageMask) << 1) + 1]!;
  }

  #setAddress(slot: number, address: number): void {
    this.pages[slot >>> pageShift]![(slot & pageMask) << 1] = address;
  }

  #append(): number {
    const slot = this.length;
    if (slot > slotMask) throw new RangeError('There are more credentials than slots.');
    if (slot >>> pageShift === this.pages.length)
      this.pages.push(new Int32Array(new SharedArrayBuffer(8 << pageShift)));
    this.pages[slot >>> pageShift]![((slot & pageMask) << 1) + 1] = 1;
    this.length++;
    return slot;
  }
}
