import { z } from 'zod';
import { refusal } from '../../../errors.ts';
import { failure } from '../../../http/error-envelopes.ts';
import { type Route, type RouteDefinition, route } from '../../../http/route.ts';
import type { ProjectPrincipal } from '../../access/principal.ts';

type Params = { readonly response_id: string };
type Definition = RouteDefinition<ProjectPrincipal, Params, Record<string, never>, undefined, undefined>;

/** Nothing is stored, so each answers that (contract C.2). */
export const storedResponseRoutes = (): readonly Route[] => [
  notStored('GET', '/v1/responses/{response_id*}', 'retrieveResponse', 'Read a stored response: none is stored'),
  notStored('DELETE', '/v1/responses/{response_id*}', 'deleteResponse', 'Delete a stored response: none is stored'),
  notStored('POST', '/v1/responses/{response_id}/cancel', 'cancelResponse', 'Cancel a response: none is stored'),
];

const notStored = (method: Definition['method'], path: string, operation: string, summary: string): Route =>
  route<ProjectPrincipal, Params>({
    method,
    path,
    operation,
    summary,
    tag: 'Inference',
    family: 'chat',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    params: z.object({ response_id: z.string() }),
    replies: {},
    errors: ['response_not_stored'],
    handle: ({ head }) => failure(refusal('response_not_stored', { param: 'response_id' }), 'chat', head.requestId),
  });
