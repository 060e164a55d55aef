import { openapi } from '../../src/http/openapi/openapi.ts';
import { routesToLookAt } from '../support/all-routes.ts';

/** As much of JSON Schema as the document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly not?: Schema;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, object>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** The document as a client gets it. */
export const document = JSON.parse(JSON.stringify(openapi(routesToLookAt()))) as OpenApi;

/** Of what a model takes or answers the alternative of a strict one; any other schema as it is. */
export const strictly = (schema: Schema): Schema =>
  resolved(schema).anyOf?.find(({ $ref }) => $ref?.startsWith('#/components/schemas/Strict')) ?? schema;

/** The schema that a reference leads to, else the schema itself. */
export const resolved = (schema: Schema): Schema => {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : resolved(document.components.schemas[name] ?? {});
};
