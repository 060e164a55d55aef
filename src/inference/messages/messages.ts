import type { ProjectPrincipal } from '../../access/principal.ts';
import type { Clock } from '../../clock.ts';
import { isRefusal, type Refusal, refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import { type Call, type Reply, type Route, route } from '../../http/route.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import type { GenerateRequest, Upstream } from '../../upstream/port.ts';
import { bodyRefusal } from '../body-refusal.ts';
import { isLocked } from '../models/model-requirements.ts';
import { type After, realAfter } from './event-output.ts';
import { generateRequest } from './generate-request.ts';
import { contextRefusal, modelRefusal } from './messages-model-rules.ts';
import { type Generation, streamedReply, wholeReply } from './messages-reply.ts';
import { messageResponse } from './messages-response-schema.ts';
import { type MessagesBody, messagesBody } from './messages-schema.ts';

export interface MessagesOptions {
  /** By the id that callers send. */
  readonly models: ReadonlyMap<string, ConnectedModel>;
  readonly clock: Clock;
  /** A new `msg_…` id. */
  readonly messageId: () => string;
  /** Whether images by URL are passed on to upstreams; by default they are refused (contract G.2). */
  readonly remoteImages?: boolean;
  /** The values of `inference_geo` that are served. Unspecified: without a list, the default, any is taken for a hint. */
  readonly regions?: ReadonlySet<string>;
  /** For tests; real timers by default. */
  readonly after?: After;
}

type MessagesCall = Call<ProjectPrincipal, Record<string, never>, Record<string, never>, MessagesBody, undefined>;

/** Bytes (contract A.3). */
const bodyLimit = 32 * 1024 * 1024;
/** Unspecified: when to ask again for a model that the operator has declared not ready. */
const notReadySeconds = 30;

/** `POST /v1/messages` (spec; contract A.5, G.1–G.5): the answer of a model, whole or as server-sent events. */
export const messagesRoute = (options: MessagesOptions): Route => {
  const { clock, after = realAfter } = options;
  return route<ProjectPrincipal, Record<string, never>, Record<string, never>, MessagesBody>({
    method: 'POST',
    path: '/v1/messages',
    operation: 'createMessage',
    summary: 'Generate an answer to a conversation',
    tag: 'Inference',
    family: 'messages',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    body: messagesBody,
    bodyLimit,
    replies: {
      200: {
        description: 'The answer; with "stream": true, as server-sent events',
        schema: messageResponse,
        media: 'application/json, text/event-stream',
      },
    },
    errors: [
      'organization_suspended',
      'model_locked',
      'content_refused',
      'model_not_found',
      'policy_not_found',
      'unsupported_parameter',
      'unsupported_tool',
      'unsupported_content_block',
      'context_length_exceeded',
      'invalid_media',
      'provider_error',
      'provider_overloaded',
      'model_not_ready',
      'provider_timeout',
    ],
    tokens: (call) => {
      const task = resolve(call, options);
      return isRefusal(task) ? 0 : tokensOf(task);
    },
    handle: (call): Reply | Promise<Reply> => {
      const task = reserveTokens(call, options);
      if (isRefusal(task)) return failure(task, 'messages', call.head.requestId);
      const { upstream, request } = task;
      const generation = generationOf(call, task, options.messageId());
      const { signal, requestId, allowance, estimatedTokens } = generation;
      // Once the upstream has been asked, the input is spent, whatever comes of it (contract F.4).
      allowance.spent = estimatedTokens;
      return call.body.stream === true
        ? streamedReply(upstream.stream(request, { signal, requestId }), generation, { clock, after })
        : wholeReply(upstream.answer(request, { signal, requestId }), generation);
    },
  });
};

/** A valid request and who answers it. */
interface Task {
  readonly upstream: Upstream;
  readonly request: GenerateRequest;
  readonly estimatedTokens: number;
}

/** What is reserved for it: its input, estimated, and the longest answer that it allows (contract F.4). */
const tokensOf = ({ request, estimatedTokens }: Task): number => estimatedTokens + request.max_tokens;

/** Resolves the request and reserves its tokens (contract F.2). */
const reserveTokens = (call: MessagesCall, options: MessagesOptions): Task | Refusal => {
  const task = resolve(call, options);
  return isRefusal(task) ? task : (call.allowance.reserve(tokensOf(task)) ?? task);
};

const generationOf = (call: MessagesCall, { estimatedTokens }: Task, id: string): Generation => {
  const { allowance, body, head, signal } = call;
  return {
    estimatedTokens,
    allowance,
    envelope: {
      id,
      model: body.model,
      versioned: head.header('anthropic-version') !== undefined,
      inferenceGeo: body.inference_geo ?? null,
      contextManaged: body.context_management != null,
    },
    requestId: head.requestId,
    signal,
  };
};

/** Resolves the model, then the policies, then judges the body by the model (contract F.2). */
const resolve = ({ body, principal }: Pick<MessagesCall, 'body' | 'principal'>, options: MessagesOptions) => {
  const hosted = options.models.get(body.model);
  if (hosted === undefined) return refusal('model_not_found', { param: 'model' });
  const { model, upstream } = hosted;
  if (!model.is_ready) return refusal('model_not_ready', { headers: { 'Retry-After': `${notReadySeconds}` } });
  if (isLocked(model, principal.tier)) return refusal('model_locked', { param: 'model' });
  // There are no policies yet, so every name is one that the organization does not have (contract B.6).
  if (body.policy_ids?.length) return refusal('policy_not_found', { param: 'policy_ids' });
  const refused =
    regionRefusal(body, options) ?? modelRefusal(body, { model, remoteImages: options.remoteImages ?? false });
  if (refused !== null) return refused;
  const request = generateRequest(body, hosted);
  const estimatedTokens = estimateInputTokens(request);
  const task: Task = { upstream, request, estimatedTokens };
  return contextRefusal(estimatedTokens, model) ?? task;
};

const regionRefusal = ({ inference_geo: region }: MessagesBody, { regions }: MessagesOptions): Refusal | null => {
  if (region == null || regions === undefined || regions.has(region)) return null;
  const message = `Must be ${[...regions].join(' or ')}.`;
  return bodyRefusal({ path: ['inference_geo'], message, input: region, type: 'literal_error' });
};
