/** Keys by Zipf (s = 1): the n-th most popular is asked for 1/n as often as the most popular. The same for every peer. */
export const popularKeys = (keys: number, draws: number): Int32Array => {
  const upTo = new Float64Array(keys);
  let sum = 0;
  for (let key = 0; key < keys; key++) {
    sum += 1 / (key + 1);
    upTo[key] = sum;
  }
  const place = shuffled(keys);
  const drawn = new Int32Array(draws);
  const random = seeded(7);
  for (let i = 0; i < draws; i++) {
    const at = random() * sum;
    let [low, high] = [0, keys - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (upTo[middle]! < at) low = middle + 1;
      else high = middle;
    }
    // Popular keys do not lie beside one another in memory.
    drawn[i] = place[low]!;
  }
  return drawn;
};

const shuffled = (length: number): Int32Array => {
  const order = Int32Array.from({ length }, (_, i) => i);
  const random = seeded(3);
  for (let i = length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const held = order[i]!;
    order[i] = order[j]!;
    order[j] = held;
  }
  return order;
};

const seeded = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Four keys a project and four projects an organization. */
export const ownersOf = (key: number) => ({
  key: `key_${String(key).padStart(26, '0')}`,
  project: `proj_${String(key >> 2).padStart(26, '0')}`,
  organization: `org_${String(key >> 4).padStart(26, '0')}`,
});

export interface Order {
  readonly keys: number;
  /** Operations before the measured ones, and those. */
  readonly warmUp: number;
  readonly operations: number;
}

export interface MicroSample {
  /** CPU time of one operation. */
  readonly nanoseconds: number;
  /** Share that was admitted. */
  readonly admitted: number;
  /** Memory for each key with its share of project and organization, as the store lays it out; null where unknown. */
  readonly recordBytes: number | null;
  /** The same by what the process has grown, objects and names included. */
  readonly processBytes: number;
}

/** CPU microseconds of this process. */
export const cpuMicros = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Simulated milliseconds between two operations, 10,000 a second: of a hundred thousand keys about half are let through. */
export const stepMs = 0.1;
/** What a request reserves and what it has taken in the end. */
export const tokens = { reserved: 1_000, taken: 600 };
