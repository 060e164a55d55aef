import type { Refusal } from '../../../errors.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';
import type { Model } from '../../upstream/models/models.ts';
import type { MessagesCount } from './messages-schema.ts';

const numeric = ['temperature', 'top_p', 'top_k', 'max_tokens'] as const;

export const samplingRefusal = (body: MessagesCount, limits: Model['sampling_limits']): Refusal | null => {
  const outOfBounds = (
    path: readonly (string | number)[],
    type: string,
    message: string,
    ctx: Readonly<Record<string, number>>,
  ): Refusal => bodyRefusal(body, { path, type, ctx, message: `${message} for this model.` });
  for (const name of numeric) {
    const value = body[name];
    const { min = -Infinity, max = Infinity } = limits[name] ?? {};
    if (value == null) continue;
    if (value < min) return outOfBounds([name], 'greater_than_equal', `Must be at least ${min}`, { ge: min });
    if (value > max) return outOfBounds([name], 'less_than_equal', `Must be at most ${max}`, { le: max });
  }
  const sequences = body.stop_sequences ?? [];
  const { max_items: items = Infinity, max_length: length = Infinity } = limits.stop ?? {};
  if (sequences.length > items)
    return outOfBounds(['stop_sequences'], 'too_long', `Must have at most ${items} items`, { max_length: items });
  const at = sequences.findIndex((sequence) => sequence.length > length);
  if (at === -1) return null;
  const message = `Must have at most ${length} characters`;
  return outOfBounds(['stop_sequences', at], 'string_too_long', message, { max_length: length });
};
