import { createHash, timingSafeEqual } from 'node:crypto';
import { accessDenied, badCredentials } from '../grpc/refusals.ts';
import type { Handler } from '../grpc/server.ts';

/** The one who may do everything. Nobody else may do anything. */
export interface User {
  readonly name: string;
  readonly password: string;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Lets one user in, by Basic authentication of every call. As on a real node, wrong credentials are UNAUTHENTICATED
 * everywhere, and whoever brings none may ask the methods in `open`; of the others each is refused, those in
 * `denied` by a handler of their own.
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
      // Digests, so that neither length nor content of the right ones shows in the time it takes.
      if (given === undefined || !timingSafeEqual(digest(Buffer.from(given, 'base64').toString('utf8')), wanted)) {
        throw badCredentials();
      }
      handler(call);
    });
  }
  return guarded;
}
