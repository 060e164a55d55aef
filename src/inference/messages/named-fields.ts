import { z } from 'zod';

/** A parameter that changes the meaning of a request and is not offered (contract G.1). */
export const refused = z
  .unknown()
  .refine((value) => value == null, {
    params: { code: 'unsupported_parameter' },
    error: 'This parameter is not supported.',
  })
  .optional()
  .meta({ type: 'null', description: 'Not supported: must be absent or null.' });

/** An object of these fields. Any other could change the meaning of the request, so it is refused and not dropped (contract G.1). */
export const namedFields = <const T extends z.ZodRawShape>(fields: T) =>
  z.object(fields).catchall(refused) as unknown as z.ZodObject<T>;
