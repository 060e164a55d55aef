import { z } from 'zod';
import { type Refusal, refusal } from '../../errors.ts';
import { Refused, refused } from '../refused.ts';
import { parseForm } from '../request/form.ts';
import type { Framing } from '../request/framing.ts';
import { parseJson } from '../request/json.ts';
import { formMedia, isFormMedia, isJsonMedia } from '../request/media.ts';
import { type Family, type Head, isInference, type Method, type Route } from '../route.ts';
import { invalid, type Part } from '../validation/validate.ts';

/** The default (contract A.3). */
const defaultBodyLimit = 64 * 1024;

export type Check = (value: unknown) => unknown | Refused;

export interface Endpoint {
  readonly route: Route;
  readonly method: Method;
  readonly path: string;
  readonly family: Family;
  readonly params: Check | undefined;
  readonly query: Check | undefined;
  readonly headers: readonly { readonly name: string; readonly check: Check }[];
  readonly body: ((bytes: Buffer, principal: unknown) => unknown | Refused) | undefined;
  readonly bodyLimit: number;
  readonly takesForm: boolean;
  /** False where only an Admin key is accepted or OAuth clients send secrets (contract A.3). */
  readonly crossOrigin: boolean;
}

/** Makes a schema ready to judge a part of requests. */
export const checker = (schema: z.ZodType, family: Family, part: Part, wrap?: string): Check => {
  // At its first use: most processes judge no request at all. zod compiles what it can and interprets the rest.
  let compiled: z.ZodType | undefined;
  return (value) => {
    compiled ??= z.compile(schema);
    const result = compiled.safeParse(value);
    if (result.success) return result.data;
    if (wrap === undefined) return new Refused(invalid(family, part, value, result.error));
    if (value === undefined) {
      // Nothing was sent; the schema knows what is missing.
      const param = `${part}.${wrap}`;
      const message = `${param}: ${result.error.issues[0]?.message}`;
      return refused('validation_failed', { param, message });
    }
    const issues = result.error.issues.map((issue) => ({ ...issue, path: [wrap, ...issue.path] }));
    return new Refused(invalid(family, part, { [wrap]: value }, new z.core.$ZodError(issues)));
  };
};

/** Administration refuses unknown parameters: an ignored filter would mislead (contract A.2). */
const queryOf = ({ access, query, path }: Route): z.ZodType | undefined => {
  if (access.credential !== 'admin') return query;
  if (query === undefined) return z.strictObject({});
  if (!(query instanceof z.ZodObject)) throw new Error(`The query of ${path} is not an object.`);
  return query.strict();
};

const bodyOf = ({ body, bodyForm, family }: Route): Endpoint['body'] => {
  if (body === undefined || 'read' in body) return body?.read;
  const check = checker(body, family, 'body');
  const parse = bodyForm === 'urlencoded' ? parseForm : parseJson;
  return (bytes) => {
    const value = parse(bytes);
    return value instanceof Refused ? value : check(value);
  };
};

export const endpoint = (route: Route): Endpoint => {
  const { access, family } = route;
  const schemaOf = (schema: z.ZodType | undefined, part: Part) => schema && checker(schema, family, part);
  return {
    route,
    method: route.method,
    path: route.path,
    family,
    params: schemaOf(route.params, 'path'),
    query: schemaOf(queryOf(route), 'query'),
    headers: Object.entries(route.headers ?? {}).map(([name, schema]) => ({
      name: name.toLowerCase(),
      check: checker(schema, family, 'header', name),
    })),
    body: bodyOf(route),
    bodyLimit: route.bodyLimit ?? defaultBodyLimit,
    takesForm: route.bodyForm === 'urlencoded',
    crossOrigin: access.credential !== 'client' && !('permission' in access && access.adminKeyOnly),
  };
};

const longestQuote = 100;
/** A coding or media type; anything else may be a credential in the wrong header. */
const sayable = /^[\w!#$&^.+*-]+(\/[\w!#$&^.+*-]+([ \t]*;[ \t]*[\w-]+="?[\w.:+-]+"?)*)?$/;
const shortened = (value: string): string => (value.length > longestQuote ? `${value.slice(0, longestQuote)}…` : value);

const cameAs = (type: string | undefined, encoding: string | undefined): string => {
  if (encoding !== undefined)
    return `with ${sayable.test(encoding) ? `Content-Encoding: ${shortened(encoding)}` : 'one'}`;
  if (type === undefined) return 'without a Content-Type';
  return `as ${sayable.test(type) ? shortened(type) : 'something else'}`;
};

const badMedia = (target: Endpoint, type: string | undefined, encoding?: string): Refusal => {
  const wanted = target.takesForm ? formMedia : 'application/json';
  const came = cameAs(type, encoding);
  const message = `The request body must be ${wanted} without Content-Encoding; it came ${came}.`;
  return refused('unsupported_media_type', { message }).refusal;
};

const inThousands = new Intl.NumberFormat('en-US');

/** @param most bytes that would have been accepted */
export const refusedBody = (most: number): Refusal => {
  const message = `The request body is too large: this route takes at most ${inThousands.format(most)} bytes.`;
  return refusal('request_too_large', { message });
};

const noTrailers = 'The header trailer announces trailers of the body, which are not taken.';

/** uWebSockets cannot read trailers. */
export const announcesTrailers = (framing: Framing, head: Head): boolean =>
  framing.chunked && head.header('trailer') !== undefined;

/** 411, 400, 415 or 413, in this order. */
export const judgeBodyHeaders = (target: Endpoint, head: Head, framing: Framing): Refusal | undefined => {
  const takesBody = target.method !== 'GET';
  if (framing.chunked && takesBody && !isInference(target.family)) return refused('length_required').refusal;
  if (announcesTrailers(framing, head) && takesBody) return refused('invalid_request', { message: noTrailers }).refusal;
  const encoding = head.header('content-encoding');
  const isEncoded = encoding !== undefined && encoding.toLowerCase() !== 'identity';
  const type = head.header('content-type');
  if (isEncoded && takesBody) return badMedia(target, type, encoding);
  const isMedia = target.takesForm ? isFormMedia : isJsonMedia;
  if (target.body && !isMedia(type)) return badMedia(target, type);
  if (framing.length > target.bodyLimit && takesBody) return refusedBody(target.bodyLimit);
  return undefined;
};

/** Returns 400 or 422 if invalid. A route without a body accepts nothing or `{}` (contract A.3). */
export const readBody = (target: Endpoint, bytes: Buffer, principal: unknown): unknown | Refused => {
  if (target.method === 'GET') return undefined;
  if (target.body) return target.body(bytes, principal);
  if (bytes.length === 0) return undefined;
  const value = parseJson(bytes);
  if (value instanceof Refused) return value;
  const surplus = Object.keys(value)[0];
  if (surplus === undefined || target.family !== 'admin') return undefined;
  return refused('unknown_field', { param: surplus, message: `${surplus}: There is no such field.` });
};
