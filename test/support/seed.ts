import process from 'node:process';

const { SEED } = process.env;

/**
 * What chance decides in a test follows from it. It is the same in every run, so that a test that fails was broken by the
 * change; `SEED=random` looks further, and a failure prints the seed to run again with `SEED=N`.
 */
export const seed = SEED === 'random' ? Date.now() % 2 ** 31 : Number(SEED ?? 4711);
