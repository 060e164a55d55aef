import { z } from 'zod';
import type { ProjectPrincipal } from '../../access/principal.ts';
import { isRefusal, type Refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import { type Call, type Reply, type Route, route } from '../../http/route.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import type { GenerateOptions, MessagesPassing } from '../../upstream/port.ts';
import { callErrors } from '../models/call-errors.ts';
import { callableModel } from '../models/callable-model.ts';
import { passedHeaders } from '../reply/passed-reply.ts';
import type { ReadBody } from '../route/body-reader.ts';
import { bodyLimit } from '../route/inference-route.ts';
import { policyRefusal } from '../route/task.ts';
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
export const countTokensRoute = (models: ReadonlyMap<string, ConnectedModel>): Route =>
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
      const hosted = resolve(call, models);
      return isRefusal(hosted) ? failure(hosted, 'messages', call.head.requestId) : counted(call, hosted);
    },
  });

const resolve = (
  { body, principal }: CountCall,
  models: ReadonlyMap<string, ConnectedModel>,
): ConnectedModel | Refusal => {
  const { strict, passed } = body;
  const { model: name, policy_ids: policies } = strict ?? passed.fields;
  const hosted = callableModel(models, name, principal);
  if (isRefusal(hosted)) return hosted;
  return policyRefusal(policies) ?? (strict && modelRefusal(strict, hosted.model)) ?? hosted;
};

const counted = async ({ body, head, signal }: CountCall, hosted: ConnectedModel): Promise<Reply> => {
  const options: GenerateOptions = { signal, requestId: head.requestId };
  const { strict, passed } = body;
  try {
    if (strict === null) {
      const request = { body: passed.bytes(), id: '', model: '', headers: passedHeaders(head, passedNames) };
      return reply((await passed.passing.countTokens(request, options)) ?? passed.estimatedTokens);
    }
    const request = countRequest(strict, hosted);
    const count = await hosted.upstream.countTokens?.(request, options);
    return reply(count ?? estimateInputTokens(request));
  } catch (error) {
    const refused = signal.aborted ? null : upstreamRefusal(error);
    if (refused === null) throw error;
    return failure(refused, 'messages', head.requestId);
  }
};

const reply = (tokens: number): Reply => ({ status: 200, body: { input_tokens: tokens } });
