import type { Knowledge } from '../../src/data/access/knowledge.ts';

/** Of a gateway that has heard everything. */
export const upToDate: Knowledge = { isBehind: false, isTooOld: false };
