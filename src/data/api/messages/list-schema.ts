import { z } from 'zod';

export const maxIssues = 20;

const List = z.core.$constructor<z.ZodArray>('List', (inst, def) => {
  z.ZodArray.init(inst, def);
  const refuse = inst._zod.parse;
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value;
    if (!Array.isArray(input)) return refuse(payload, ctx);
    const output: unknown[] = [];
    payload.value = output;
    for (const [index, value] of input.entries()) {
      // Nothing here is asynchronous.
      const item = def.element._zod.run({ value, issues: [] }, ctx) as z.core.ParsePayload;
      output.push(item.value);
      if (item.issues.length === 0) continue;
      payload.issues.push(...z.core.util.prefixIssues(index, item.issues));
      if (payload.issues.length < maxIssues) continue;
      payload.aborted = true;
      break;
    }
    return payload;
  };
});

/** Stops at 20 issues: for 16 million wrong items zod's array would keep gigabytes of issues. */
export const list = <T extends z.ZodType>(element: T) =>
  new List({ type: 'array', element }) as unknown as z.ZodArray<T>;
