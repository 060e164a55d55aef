import { z } from 'zod';
import { ExactNumber } from '../../json/exact-number.ts';

/** Sums of charges stay exact far above it. */
export const mostDollars = 1_000_000_000;
const microsOfDollar = 1_000_000;

export const microsOf = (dollars: number): number => Math.round(dollars * microsOfDollar);

/** US dollars above 0, to the micro-dollar (contract A.1). */
export const dollars = () =>
  z.preprocess(
    (value) => (value instanceof ExactNumber ? Number(value) : value),
    z
      .number()
      .min(1 / microsOfDollar)
      .max(mostDollars)
      .refine((value) => microsOf(value) / microsOfDollar === value, { error: 'Must have at most 6 decimals.' })
      .describe('US dollars with at most 6 decimals'),
  );
