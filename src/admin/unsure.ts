import { type Code, Fault, fault } from '../errors.ts';
import type { Route } from '../http/route.ts';

/** Refusals that may be due to a gateway that is behind. */
const unknownHere: ReadonlySet<Code> = new Set([
  'project_not_found',
  'api_key_not_found',
  'admin_api_key_not_found',
  'policy_not_found',
  'invalid_cursor',
]);

/** Answers 503 instead of 404 while this gateway is behind, since another one may have created the resource (contract K.1). */
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
