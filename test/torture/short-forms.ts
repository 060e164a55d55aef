import { describe, expect, test } from 'vitest';
import { seed } from '../support/seed.ts';
import { noFigures, type Plan } from './figures.ts';
import { type Kind, repetition, tortured } from './tortures.ts';

type Skip = { readonly skip: (why: string) => unknown };

/** With the protection off, faults have to be found. */
export const canarySings =
  (kind: Kind) =>
  async ({ skip }: Skip): Promise<void> => {
    const figures = noFigures();
    // Not by way of tortured(): a canary that falls off its perch has not sung.
    await kind.torture({ count: kind.counts.canary, seed, canary: true }, figures);
    if (figures.skipped !== undefined) skip(figures.skipped);
    expect(figures.faults, 'a canary that finds nothing makes the torture worthless').not.toEqual([]);
  };

/** A few cycles of the torture find no fault, at the store that EVENTSTORE_URL names where that can be. */
export const harmsNothing =
  (kind: Kind) =>
  async ({ skip }: Skip): Promise<void> => {
    const url = process.env.EVENTSTORE_URL;
    const store = url === undefined || kind.cannotAt(url) !== undefined ? undefined : url;
    const plan: Plan = { count: kind.counts.short, seed, store };
    const figures = await tortured(kind, plan);
    if (figures.skipped !== undefined) skip(figures.skipped);
    expect(figures.faults, `${figures.faults.join('; ')}; again: ${repetition(kind, plan, figures)}`).toEqual([]);
    expect(figures).toMatchObject({ lost: 0, doubled: 0, gaps: 0, cycles: kind.counts.short });
  };

/** Each torture in its short form, and its canary. That of D1 is number 42 of the contract (test/contract/life.test.ts). */
export const shortForms = (kinds: readonly Kind[]): void =>
  describe.each(kinds.filter(({ id }) => id !== 'D1').map((kind) => [`${kind.id} ${kind.title}`, kind] as const))(
    '%s',
    (_, kind) => {
      test('is noticed by its canary', { timeout: 240_000 }, canarySings(kind));
      test('harms nothing', { timeout: 240_000 }, harmsNothing(kind));
    },
  );
