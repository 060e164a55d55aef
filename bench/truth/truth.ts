/** One promise about the limits, held against what a client saw. */
export interface TruthRow {
  readonly claim: string;
  /** How many cases there were to hold it against. */
  readonly cases: number;
  readonly violations: number;
  /** The first of them in words. */
  readonly example: string | null;
}

export const truthRow = (claim: string, cases: number, violations: readonly string[]): TruthRow => ({
  claim,
  cases,
  violations: violations.length,
  example: violations[0] ?? null,
});
