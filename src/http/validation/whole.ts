import { z } from 'zod';
import { ExactNumber } from '../../json/exact-number.ts';

const Whole = z.core.$constructor<z.ZodInt>('Whole', (inst, def) => {
  z.ZodNumberFormat.init(inst, def);
  const parse = inst._zod.parse;
  inst._zod.parse = (payload, ctx) => {
    if (payload.value instanceof ExactNumber) payload.value = Number(payload.value);
    if (typeof payload.value === 'number') return parse(payload, ctx);
    payload.issues.push({ code: 'invalid_type', expected: 'int', input: payload.value, inst });
    return payload;
  };
});

/** A safe integer; by zod's own the answer to `"5"` would depend on its type (contract E.1). */
export const whole = () => new Whole({ type: 'number', check: 'number_format', format: 'safeint', abort: false });
