import { fault } from '../../errors.ts';
import { responseHeaders } from '../openapi/openapi-headers.ts';
import { type Head, type Headers, route } from '../route.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { allowOf } from './router.ts';

/** Headers that Weir reads or SDKs send from pages, beside `x-stainless-…`. */
const readHeaders: ReadonlySet<string> = new Set([
  'accept',
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'anthropic-version',
  'authorization',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'openai-beta',
  'openai-organization',
  'openai-project',
  'user-agent',
  'x-api-key',
]);
const ofSdks = /^x-stainless-[a-z-]+$/;

/** Beside those in the OpenAPI document. */
const exposed = ['x-request-id', 'x-should-retry', 'Idempotent-Replayed', 'ETag', 'Allow'];
const exposedNames = [...Object.keys(responseHeaders), ...exposed].join(', ');

/** Unspecified: seconds that a preflight is cached, Chromium's maximum. */
const maxAgeSeconds = '7200';

/** Keeps caches from mixing the answers of origins. */
const varying = '\r\nVary: Origin';

export class Cors {
  readonly #linesOf: ReadonlyMap<string, string>;

  /** @param origins as browsers send them, validated */
  constructor(origins: readonly string[]) {
    this.#linesOf = new Map(
      origins.map((origin) => [
        origin,
        `\r\nAccess-Control-Allow-Origin: ${origin}\r\nAccess-Control-Expose-Headers: ${exposedNames}${varying}`,
      ]),
    );
  }

  /** Header lines that begin with CR LF. */
  lines(origin: string | undefined): string {
    return origin === undefined ? varying : (this.#linesOf.get(origin) ?? varying);
  }

  allows(origin: string): boolean {
    return this.#linesOf.has(origin);
  }
}

const isRead = (name: string): boolean => readHeaders.has(name) || ofSdks.test(name);

/** For preflights only. */
const permissions = (head: Head, allow: string): Headers => {
  const asked = head.header('access-control-request-headers') ?? '';
  const granted = asked
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter(isRead);
  return {
    'Access-Control-Allow-Methods': allow,
    ...(granted.length > 0 && { 'Access-Control-Allow-Headers': granted.join(', ') }),
    'Access-Control-Max-Age': maxAgeSeconds,
  };
};

const isForServers = ({ route: { access } }: Endpoint): boolean => 'permission' in access && !!access.adminKeyOnly;

const optionsOf = (path: string, endpoints: readonly Endpoint[], cors: Cors | undefined): Endpoint => {
  const allow = allowOf(endpoints.map(({ method }) => method));
  const forServers = endpoints.some(isForServers);
  const crossOrigin = endpoints.every((each) => each.crossOrigin);
  const definition = route({
    method: 'OPTIONS',
    path,
    operation: `options ${path}`,
    summary: 'What may be asked here',
    tag: 'Operations',
    family: endpoints[0]!.family,
    // Preflights carry none.
    access: { credential: 'none' },
    replies: { 204: { description: 'The methods of the path.' } },
    handle({ head }) {
      const origin = head.header('origin');
      if (forServers && origin !== undefined) throw fault('browser_not_allowed');
      const isGranted =
        crossOrigin &&
        origin !== undefined &&
        cors?.allows(origin) === true &&
        head.header('access-control-request-method') !== undefined;
      return { status: 204, headers: { Allow: allow, ...(isGranted && permissions(head, allow)) }, body: '' };
    },
  });
  return { ...endpoint(definition), crossOrigin };
};

/** Answers OPTIONS of every routed path with its methods, and preflights with CORS permissions. */
export const optionsEndpoints = (endpoints: readonly Endpoint[], cors: Cors | undefined): Endpoint[] => {
  const byPath = new Map<string, Endpoint[]>();
  for (const each of endpoints) byPath.set(each.path, [...(byPath.get(each.path) ?? []), each]);
  return [...byPath].map(([path, those]) => optionsOf(path, those, cors));
};
