import { expect } from 'vitest';
import { preview } from '../../src/http/validation/preview.ts';

interface Entry {
  readonly loc: readonly string[];
  readonly input: unknown;
}

/** Holds the `detail` of an answer, if it has one, against the body that was sent: each entry has what stands at its place. */
export const expectRefusedInput = (sent: unknown, answer: { readonly detail?: readonly Entry[] } | undefined): void => {
  for (const { loc, input } of answer?.detail ?? []) {
    const [part, ...path] = loc;
    if (part !== 'body') continue;
    const value = path.reduce<unknown>((within, step) => (within as Record<string, unknown> | undefined)?.[step], sent);
    expect([loc, input]).toEqual([loc, preview(value)]);
  }
};
