import { z } from 'zod';

/** Not offered, and changes the meaning of a request (contract G.1). */
export const refused = z
  .unknown()
  .refine((value) => value == null, {
    params: { code: 'unsupported_parameter' },
    error: 'This parameter is not supported.',
  })
  .optional()
  .meta({ type: 'null', description: 'Not supported: must be absent or null.' });

/** Other fields are refused, not dropped: they could change the meaning (contract G.1). */
export const namedFields = <const T extends z.ZodRawShape>(fields: T) =>
  z.object(fields).catchall(refused) as unknown as z.ZodObject<T>;
