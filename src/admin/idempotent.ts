import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AdminPrincipal } from '../../projections/principal.ts';
import { Fault } from '../errors.ts';
import type { Head } from '../http/route.ts';
import { type Administration, contextOf, execute } from './command.ts';

/**
 * Makes one resource per Idempotency-Key (decisions I, architecture 7): reserves the key together with the id of the
 * resource to be, creates, completes. A request that fails and knows that nothing was committed releases the key; any
 * other failure leaves the reservation, which the next attempt takes up with the same id.
 * @throws Fault 409 for a key in use, used with another body, or used before
 */
export const once = async <T>(
  admin: Administration,
  call: { readonly head: Head; readonly principal: AdminPrincipal; readonly body: unknown },
  newResourceId: () => string,
  create: (resourceId: string) => Promise<T>,
): Promise<T> => {
  const key = call.head.header('idempotency-key');
  if (key === undefined) return create(newResourceId());
  const { organizationId, id: credentialId } = call.principal;
  const scope = [organizationId, credentialId, call.head.method, call.head.path, key];
  const stream = admin.secrets.mac(JSON.stringify(scope));
  const fingerprint = createHash('sha256')
    .update(canonicalize(call.body) ?? '')
    .digest('hex');
  const context = contextOf(call);
  const keys = admin.aggregates.idempotency;
  const reservation = { fingerprint, resourceId: newResourceId(), at: admin.clock.wall() };
  const reserved = await execute(() => keys.tell(stream, 'reserve', reservation, context));
  try {
    const result = await create(reserved.state.data.resourceId);
    await execute(() => keys.tell(stream, 'complete', { at: admin.clock.wall() }, context));
    return result;
  } catch (error) {
    if (error instanceof Fault) {
      const { code, status } = error.refusal;
      // The resource of an abandoned reservation is there: the key must never lead to a second one.
      if (code === 'idempotency_result_unavailable') {
        await execute(() => keys.tell(stream, 'complete', { at: admin.clock.wall() }, context));
      } else if (status < 500) {
        await execute(() => keys.tell(stream, 'release', undefined, context));
      }
    }
    throw error;
  }
};
