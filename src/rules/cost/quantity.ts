/**
 * Sums of products of sizes that are known only when there is a request, such as `3·|request.text| + 20·#messages`.
 * Built once per rule; evaluating one takes some additions and multiplications.
 */

interface Term {
  readonly factor: number;
  /** Names of sizes (see sizes.ts), sorted. */
  readonly sizes: readonly string[];
  /**
   * Comprehensions, by number, whose repetitions the sizes already include: the texts of all messages together are what
   * `m.text` adds up to over a loop with `m`, not the longest text times the number of messages.
   */
  readonly covers: readonly number[];
}
export type Quantity = readonly Term[];

export interface Loop {
  readonly id: number;
  /** How often the body runs for one run of the comprehension. */
  readonly count: Quantity;
}

export const constant = (factor: number): Quantity => (factor === 0 ? [] : [{ factor, sizes: [], covers: [] }]);

export const size = (name: string): Quantity => [{ factor: 1, sizes: [name], covers: [] }];

/** Terms over the same sizes become one, so that a long rule does not mean a long sum. */
const merged = (terms: Iterable<Term>): Quantity => {
  const byShape = new Map<string, Term>();
  for (const term of terms) {
    const shape = `${term.sizes.join()}|${term.covers.join()}`;
    const known = byShape.get(shape);
    byShape.set(shape, known === undefined ? term : { ...known, factor: known.factor + term.factor });
  }
  return [...byShape.values()];
};

export const sum = (...quantities: readonly Quantity[]): Quantity => merged(quantities.flat());

export const scaled = (quantity: Quantity, by: number): Quantity =>
  quantity.map((term) => ({ ...term, factor: term.factor * by }));

const both = <T>(a: readonly T[], b: readonly T[]): readonly T[] => [...new Set([...a, ...b])].sort();

export const product = (a: Quantity, b: Quantity): Quantity =>
  merged(
    a.flatMap((x) =>
      b.map((y) => ({
        factor: x.factor * y.factor,
        sizes: [...x.sizes, ...y.sizes].sort(),
        covers: both(x.covers, y.covers),
      })),
    ),
  );

/** What belongs to one item becomes what belongs to all items that `loop` goes through. */
export const covering = (quantity: Quantity, loop: number): Quantity =>
  quantity.map((term) => ({ ...term, covers: both(term.covers, [loop]) }));

/** `quantity` inside `loops`, outermost first, added up over all their repetitions. */
export const repeated = (quantity: Quantity, loops: readonly Loop[]): Quantity => {
  let total = quantity;
  for (const { id, count } of loops.toReversed()) {
    const [inside, outside] = [
      total.filter(({ covers }) => covers.includes(id)),
      total.filter(({ covers }) => !covers.includes(id)),
    ];
    total = sum(
      inside.map((term) => ({ ...term, covers: term.covers.filter((covered) => covered !== id) })),
      product(outside, count),
    );
  }
  return total;
};

/** The number, given the sizes. */
export const evaluated = (quantity: Quantity, sizeOf: (name: string) => number): number => {
  let total = 0;
  for (const { factor, sizes } of quantity) {
    let value = factor;
    for (const name of sizes) value *= sizeOf(name);
    total += value;
  }
  return total;
};
