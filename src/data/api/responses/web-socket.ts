import { refusal } from '../../../errors.ts';
import { failure } from '../../../http/error-envelopes.ts';
import { type Headers, type Route, route } from '../../../http/route.ts';
import { allowOf, methodNotAllowed } from '../../../http/routing/router.ts';
import type { ProjectPrincipal } from '../../access/principal.ts';

/** The protocol to go on with (RFC 9110, 15.5.22). */
const upgrade: Headers = { Upgrade: 'HTTP/1.1', Connection: 'Upgrade' };
const allow = allowOf(['POST']);
const asksForWebSocket = /(?:^|,)[ \t]*websocket[ \t]*(?:[,/]|$)/i;

/** Clients that try a WebSocket first, such as Codex, fall back to POST at once (contract C.2). */
export const webSocketRoute = (): Route =>
  route<ProjectPrincipal>({
    method: 'GET',
    path: '/v1/responses',
    operation: 'connectResponses',
    summary: 'Open a WebSocket for responses: none is offered',
    tag: 'Inference',
    family: 'chat',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    replies: {},
    errors: ['method_not_allowed', 'upgrade_required'],
    handle: ({ head }) => {
      const isAsked = asksForWebSocket.test(head.header('upgrade', true) ?? '');
      const refused = isAsked ? refusal('upgrade_required', { headers: upgrade }) : methodNotAllowed(allow);
      return failure(refused, 'chat', head.requestId);
    },
  });
