import fc from 'fast-check';

// A mutant is killed by the first disagreement; to look for the smallest one would take most of the time.
fc.configureGlobal({ endOnFailure: true });
