import fc from 'fast-check';
import { seed } from '../support/seed.ts';

// A mutant is killed by the first disagreement; to look for the smallest one would take most of the time.
fc.configureGlobal({ seed, endOnFailure: true });
