import type { GenerateRequest } from './port.ts';
import type { Fields } from './transport/fields.ts';

export type Format = NonNullable<NonNullable<GenerateRequest['output_config']>['format']>;

/** A bare object type. */
export const isJsonMode = (schema: Fields): boolean => schema.type === 'object' && Object.keys(schema).length === 1;
