import type { Knowledge } from '../../src/access/authenticate.ts';

/** Of a gateway that has heard everything. */
export const upToDate: Knowledge = { isBehind: false, isTooOld: false };
