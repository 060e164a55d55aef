/** Sums of products of sizes of a request, such as `3·|request.text| + 20·#messages`; built once per rule. */

interface Term {
  readonly factor: number;
  readonly sizes: readonly string[];
  /** Loops whose repetitions the sizes include: `m.text` adds up to the texts of all messages. */
  readonly covers: readonly number[];
}
export type Quantity = readonly Term[];

export interface Loop {
  readonly id: number;
  /** Repetitions of the body per comprehension. */
  readonly count: Quantity;
}

export const constant = (factor: number): Quantity => (factor === 0 ? [] : [{ factor, sizes: [], covers: [] }]);

export const size = (name: string): Quantity => [{ factor: 1, sizes: [name], covers: [] }];

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

/** Marks sizes of one item as the total over all items of a loop. */
export const covering = (quantity: Quantity, loop: number): Quantity =>
  quantity.map((term) => ({ ...term, covers: both(term.covers, [loop]) }));

/** The total of `quantity` over all repetitions of `loops`, outermost first. */
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

export const evaluated = (quantity: Quantity, sizeOf: (name: string) => number): number => {
  let total = 0;
  for (const { factor, sizes } of quantity) {
    let value = factor;
    for (const name of sizes) value *= sizeOf(name);
    total += value;
  }
  return total;
};
