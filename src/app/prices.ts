import { type Price, priceOf } from '../domain/charge.ts';
import type { DeclaredModel } from '../upstream/models/models.ts';

/** What the declared models cost. Input that goes into the cache costs what other input does, unless it is said. */
export const pricesOf = (models: readonly DeclaredModel[]): readonly Price[] =>
  models.map(({ model: { id, pricing } }) =>
    priceOf(id, { ...pricing, input_cache_write: pricing.input_cache_write ?? pricing.prompt }),
  );
