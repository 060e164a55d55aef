import { z } from 'zod';
import { isRefusal } from '../../../errors.ts';
import { failure } from '../../../http/error-envelopes.ts';
import { type Reply, type Route, route } from '../../../http/route.ts';
import type { ProjectPrincipal } from '../../access/principal.ts';
import { noPolicies, type PolicyGuard } from '../../policy/guard.ts';
import { passedHeaders } from '../../reply/passed-headers.ts';
import { tellOperator, upstreamRefusal } from '../../reply/upstream-refusal.ts';
import { type Admitted, admission } from '../../request/admission.ts';
import { callErrors, foreignErrors } from '../../request/call-errors.ts';
import { either } from '../../request/either.ts';
import { bodyLimit } from '../../request/inference-route.ts';
import {
  type InferenceCall,
  type LargeBodies,
  type LargeBody,
  readHere,
  withLarge,
} from '../../request/large-bodies.ts';
import type { Models } from '../../request/named-model.ts';
import { policed, viewOf } from '../../request/policed.ts';
import { preparing } from '../../request/prepare.ts';
import { type Prepared, translatedRequest } from '../../request/prepared.ts';
import type { GenerateOptions } from '../../upstream/port.ts';
import { passedNames } from './messages.ts';
import { countRules } from './messages-rules.ts';
import { messagesCount } from './messages-schema.ts';
import type { MessagesSaid } from './passing-rules.ts';
import { passingCount } from './passing-schema.ts';

const tokenCount = z.object({ input_tokens: z.int().min(0) }).meta({ id: 'TokenCount' });

/** `POST /v1/messages/count_tokens` (contract G.1). Takes no tokens of the limits. */
export const countTokensRoute = (
  models: Models,
  policies: PolicyGuard = noPolicies,
  large?: Pick<LargeBodies, 'read'>,
): Route => {
  const { tokens, resolve } = admission(models, policies, countRules.passing.as);
  const prepare = preparing(models, countRules);
  return route<ProjectPrincipal, Record<string, never>, Record<string, never>, Prepared<MessagesSaid> | LargeBody>({
    method: 'POST',
    path: '/v1/messages/count_tokens',
    operation: 'countMessageTokens',
    summary: 'Count the input tokens of a conversation',
    tag: 'Inference',
    family: 'messages',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    body: {
      schema: either('CountMessageTokensRequest', messagesCount, passingCount),
      read: readHere(prepare, large !== undefined),
    },
    bodyLimit,
    replies: { 200: { description: 'The count', schema: tokenCount } },
    errors: [...callErrors, 'thread_unsupported_request'],
    foreignErrors,
    tokens: (call) => ({ ...tokens(call), tokens: 0 }),
    handle: withLarge<MessagesSaid>(large, { api: 'count', family: 'messages' }, (call, asked) => {
      const { head, principal } = call;
      const { requestId } = head;
      const admitted = resolve(asked, principal);
      if (isRefusal(admitted)) return failure(admitted, 'messages', requestId);
      call.watched?.aims(admitted.hosted.model.id);
      const count = () => counted(call, admitted, asked.estimatedTokens);
      const { policies: those } = admitted;
      if (those === null) return count();
      const view = viewOf({ ...asked, isStreamed: false }, admitted, 'messages', principal);
      const judged = { policies: those, caller: principal, named: asked.named, requestId, view };
      return policed(policies, judged, { endpoint: 'messages', family: 'messages' }, count);
    }),
  });
};

const counted = async (
  { head, signal, trace, allowance }: InferenceCall<unknown>,
  { hosted, sent }: Admitted,
  estimatedTokens: number,
): Promise<Reply> => {
  const { requestId } = head;
  const limited = allowance.enter(hosted.model.id);
  if (limited !== null) return failure(limited, 'messages', requestId);
  const options: GenerateOptions = { signal, requestId, trace };
  const { upstream } = hosted;
  try {
    if (!('body' in sent))
      return reply((await upstream.countTokens?.(translatedRequest(sent, hosted), options)) ?? estimatedTokens);
    const headers = passedHeaders(head, passedNames);
    if (isRefusal(headers)) return failure(headers, 'messages', requestId);
    const asked = { body: sent.body, id: '', model: '', headers, hidesUsage: false };
    return reply((await upstream.passing!.messages!.countTokens(asked, options)) ?? estimatedTokens);
  } catch (error) {
    const refused = signal.aborted ? null : upstreamRefusal(error);
    if (refused === null) throw error;
    tellOperator(error, requestId);
    return failure(refused, 'messages', requestId);
  }
};

const reply = (tokens: number): Reply => ({ status: 200, body: { input_tokens: tokens } });
