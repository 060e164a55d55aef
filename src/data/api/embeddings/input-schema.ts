import { z } from 'zod';
import { whole } from '../../../http/validation/whole.ts';
import { list } from '../messages/list-schema.ts';

/** Of texts, or of lists of tokens. */
const mostEntries = 2048;

const tokens = list(whole().min(0)).min(1);
const options = [
  z.string(),
  list(z.string()).min(1).max(mostEntries),
  tokens,
  list(tokens).min(1).max(mostEntries),
] as const;
type Input = z.ZodUnion<typeof options>;

/** Its first item says what a list has, so that a fault is one of that list. */
const Inputs = z.core.$constructor<Input>('Inputs', (inst, def) => {
  z.ZodUnion.init(inst, def);
  const [text, texts, ofTokens, lists] = def.options;
  const refuse = inst._zod.parse;
  inst._zod.parse = (payload, ctx) => {
    const { value } = payload;
    if (typeof value === 'string') return text._zod.run(payload, ctx);
    if (!Array.isArray(value)) return refuse(payload, ctx);
    const [first] = value as readonly unknown[];
    if (Array.isArray(first)) return lists._zod.run(payload, ctx);
    return (typeof first === 'number' ? ofTokens : texts)._zod.run(payload, ctx);
  };
});

/** A text, texts, the tokens of one text, or those of several. */
export const input = new Inputs({ type: 'union', options, inclusive: true }) as unknown as Input;
