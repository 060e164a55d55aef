import { z } from 'zod';

const ofPassing =
  'Of a model that passes requests on to an upstream of the same API. Members that are not named here are allowed, at any depth: ' +
  'what they mean is for the upstream to say.';

/** For the OpenAPI document (contract L.1). @param name of the schema; the two are named after it */
export const either = (name: string, strict: z.ZodType, passing: z.ZodType): z.ZodType =>
  z
    .union([strict.meta({ id: `Strict${name}` }), passing.meta({ id: `Passing${name}`, description: ofPassing })])
    .meta({ id: name, description: 'Which of the two it is depends on the model.' });
