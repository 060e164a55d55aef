import { createHash, timingSafeEqual } from 'node:crypto';
import { accessDenied, badCredentials } from '../grpc/refusals.ts';
import type { Handler } from '../grpc/server.ts';

export interface User {
  readonly name: string;
  readonly password: string;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Requires Basic authentication for every call. Wrong credentials are UNAUTHENTICATED, as on a real node; calls without any may
 * use `open`, and of the rest those in `denied` have their own refusal.
 */
export function singleUser(
  user: User,
  methods: ReadonlyMap<string, Handler>,
  open: ReadonlySet<string>,
  denied: ReadonlyMap<string, Handler>,
): Map<string, Handler> {
  const wanted = digest(`${user.name}:${user.password}`);
  const deny: Handler = () => {
    throw accessDenied();
  };
  const guarded = new Map<string, Handler>();
  for (const [path, handler] of methods) {
    const anonymous = open.has(path) ? handler : (denied.get(path) ?? deny);
    guarded.set(path, (call) => {
      const { authorization } = call.headers;
      if (authorization === undefined) {
        anonymous(call);
        return;
      }
      const given = /^Basic +([A-Za-z0-9+/]*={0,2})$/i.exec(authorization)?.[1];
      // Digests make the time independent of length and content.
      if (given === undefined || !timingSafeEqual(digest(Buffer.from(given, 'base64').toString('utf8')), wanted)) {
        throw badCredentials();
      }
      handler(call);
    });
  }
  return guarded;
}
