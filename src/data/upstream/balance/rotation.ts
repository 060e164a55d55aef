/** Smooth weighted round robin; a candidate that returns resumes where it left off. */
export class Rotation<T extends { readonly weight: number }> {
  readonly #credit = new Map<T, number>();

  pick(candidates: readonly T[]): T {
    // What it gains it pays at once.
    if (candidates.length === 1) return candidates[0]!;
    let total = 0;
    let best = candidates[0]!;
    for (const each of candidates) {
      total += each.weight;
      this.#credit.set(each, this.#creditOf(each) + each.weight);
      if (this.#creditOf(each) > this.#creditOf(best)) best = each;
    }
    this.#credit.set(best, this.#creditOf(best) - total);
    return best;
  }

  #creditOf(each: T): number {
    return this.#credit.get(each) ?? 0;
  }
}
