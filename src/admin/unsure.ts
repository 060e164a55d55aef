import { type Code, Fault, fault } from '../errors.ts';
import type { Route } from '../http/route.ts';

/** What is refused because it is not known here. */
const unknownHere: ReadonlySet<Code> = new Set([
  'project_not_found',
  'api_key_not_found',
  'admin_api_key_not_found',
  'policy_not_found',
  'invalid_cursor',
]);

/**
 * Routes that say 503 in place of 404 while this gateway is behind: what it does not find may have been made at another one
 * (contract K.1). Nobody throws away what is there.
 */
export const unsure = (routes: readonly Route[], isBehind: () => boolean): Route[] => {
  const doubt = (error: unknown): unknown =>
    error instanceof Fault && unknownHere.has(error.refusal.code) && isBehind()
      ? fault('dependency_unavailable', { headers: { 'Retry-After': '1' }, cause: error })
      : error;
  return routes.map((route) => {
    const { find, handle } = route;
    return {
      ...route,
      ...(find && {
        find(call) {
          try {
            return find(call);
          } catch (error) {
            throw doubt(error);
          }
        },
      }),
      handle(call) {
        const refuse = (error: unknown): never => {
          throw doubt(error);
        };
        try {
          const reply = handle(call);
          return reply instanceof Promise ? reply.catch(refuse) : reply;
        } catch (error) {
          return refuse(error);
        }
      },
    };
  });
};
