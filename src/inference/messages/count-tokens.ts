import { z } from 'zod';
import type { ProjectPrincipal } from '../../access/principal.ts';
import { isRefusal, type Refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import { type Call, type Reply, type Route, route } from '../../http/route.ts';
import type { EffectivePolicies } from '../../policies/effective.ts';
import { noPolicies, type PolicyGuard } from '../../policies/guard.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import type { CountRequest, GenerateOptions, MessagesPassing } from '../../upstream/port.ts';
import { callErrors } from '../models/call-errors.ts';
import { callableModel } from '../models/callable-model.ts';
import { passedHeaders } from '../reply/passed-reply.ts';
import type { ReadBody } from '../route/body-reader.ts';
import { bodyLimit } from '../route/inference-route.ts';
import { policed, viewOf } from '../route/policed.ts';
import { upstreamRefusal } from '../upstream-refusal.ts';
import { countRequest } from './generate-request.ts';
import { passedNames } from './messages.ts';
import { modelRefusal } from './messages-model-rules.ts';
import { type MessagesCount, messagesCount } from './messages-schema.ts';
import { passingCount } from './passing-schema.ts';
import { messagesReader, type PassedCount } from './read-messages.ts';

type CountInput = ReadBody<MessagesCount, PassedCount, MessagesPassing>;
type CountCall = Call<ProjectPrincipal, Record<string, never>, Record<string, never>, CountInput, undefined>;

/**
 * `POST /v1/messages/count_tokens` (contract G.1): the input tokens of a request as its upstream counts them, or estimated
 * where it does not. It takes none of the limits' tokens.
 */
export const countTokensRoute = (
  models: ReadonlyMap<string, ConnectedModel>,
  policies: PolicyGuard = noPolicies,
): Route =>
  route<ProjectPrincipal, Record<string, never>, Record<string, never>, CountInput>({
    method: 'POST',
    path: '/v1/messages/count_tokens',
    operation: 'countMessageTokens',
    summary: 'Count the input tokens of a conversation',
    tag: 'Inference',
    family: 'messages',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    body: {
      schema: messagesCount,
      read: messagesReader(models, { strict: messagesCount, passing: passingCount, needsMaxTokens: false }),
    },
    bodyLimit,
    replies: { 200: { description: 'The count', schema: z.object({ input_tokens: z.int().min(0) }) } },
    errors: [...callErrors, 'thread_unsupported_request'],
    handle: (call): Reply | Promise<Reply> => {
      const { body, head, principal } = call;
      const { requestId } = head;
      const resolved = resolve(call, models, policies);
      if (isRefusal(resolved)) return failure(resolved, 'messages', requestId);
      const { hosted, effective } = resolved;
      call.watched?.aims(hosted.model.id);
      const { strict, passed } = body;
      const request = strict && countRequest(strict, hosted);
      // The bytes of the body are lent for this step alone.
      const outgoing = passed?.bytes() ?? noBytes;
      const count = () => counted({ call, hosted, request, outgoing });
      if (effective === null) return count();
      const { model, policy_ids: named } = strict ?? passed!.fields;
      const need = passed ?? { estimatedTokens: estimateInputTokens(request!), maxTokens: strict!.max_tokens ?? 0 };
      const text = { endpoint: 'messages', model, stream: false } as const;
      const view = viewOf({ request, need, most: hosted.model.max_output_length }, () => outgoing, text, principal);
      const asked = { policies: effective, caller: principal, named: named ?? [], requestId, view };
      return policed(policies, asked, { endpoint: 'messages', family: 'messages' }, count);
    },
  });

interface Resolved {
  readonly hosted: ConnectedModel;
  readonly effective: EffectivePolicies | null;
}

const resolve = (
  { body, principal }: CountCall,
  models: ReadonlyMap<string, ConnectedModel>,
  policies: PolicyGuard,
): Resolved | Refusal => {
  const { strict, passed } = body;
  const { model: name, policy_ids: named } = strict ?? passed.fields;
  const hosted = callableModel(models, name, principal);
  if (isRefusal(hosted)) return hosted;
  const effective = policies.meet(principal, named);
  if (effective !== null && isRefusal(effective)) return effective;
  return (strict && modelRefusal(strict, hosted.model)) ?? { hosted, effective };
};

interface Counting {
  readonly call: CountCall;
  readonly hosted: ConnectedModel;
  /** Null for a body that passes. */
  readonly request: CountRequest | null;
  readonly outgoing: Buffer;
}

const noBytes = Buffer.alloc(0);

const counted = async ({ call, hosted, request, outgoing }: Counting): Promise<Reply> => {
  const { body, head, signal } = call;
  const options: GenerateOptions = { signal, requestId: head.requestId, trace: call.trace };
  const { passed } = body;
  try {
    if (request !== null)
      return reply((await hosted.upstream.countTokens?.(request, options)) ?? estimateInputTokens(request));
    const { passing, estimatedTokens } = passed!;
    const headers = passedHeaders(head, passedNames);
    const asked = { body: outgoing, id: '', model: '', headers, hidesUsage: false };
    return reply((await passing.countTokens(asked, options)) ?? estimatedTokens);
  } catch (error) {
    const refused = signal.aborted ? null : upstreamRefusal(error);
    if (refused === null) throw error;
    return failure(refused, 'messages', head.requestId);
  }
};

const reply = (tokens: number): Reply => ({ status: 200, body: { input_tokens: tokens } });
