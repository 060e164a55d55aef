import type { ProjectPrincipal } from '../../access/principal.ts';
import type { Clock } from '../../clock.ts';
import { isRefusal, type Refusal, refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import { type Call, type Reply, type Route, route } from '../../http/route.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import type { GenerateRequest, Upstream } from '../../upstream/port.ts';
import { callableModel } from '../models/callable-model.ts';
import { type After, realAfter } from './event-output.ts';
import { generateRequest } from './generate-request.ts';
import { contextRefusal, modelRefusal } from './messages-model-rules.ts';
import { type Generation, streamedReply, wholeReply } from './messages-reply.ts';
import { messageResponse } from './messages-response-schema.ts';
import { type MessagesBody, messagesBody } from './messages-schema.ts';
import { passedHeaders, passedStream, passedWhole } from './passed-reply.ts';
import { passingBody } from './passing-schema.ts';
import { messagesReader, type PassedBody, type PassedFields, type ReadBody } from './read-messages.ts';

export interface MessagesOptions {
  /** By the id that callers send. */
  readonly models: ReadonlyMap<string, ConnectedModel>;
  readonly clock: Clock;
  /** A new `msg_…` id. */
  readonly messageId: () => string;
  /** For tests; real timers by default. */
  readonly after?: After;
}

type MessagesInput = ReadBody<MessagesBody, PassedFields>;
type MessagesCall = Call<ProjectPrincipal, Record<string, never>, Record<string, never>, MessagesInput, undefined>;

/** Bytes (contract A.3). */
export const bodyLimit = 32 * 1024 * 1024;

/** `POST /v1/messages` (spec; contract A.5, G.1–G.5, N1): the answer of a model, whole or as server-sent events. */
export const messagesRoute = (options: MessagesOptions): Route => {
  const { models, clock, messageId, after = realAfter } = options;
  return route<ProjectPrincipal, Record<string, never>, Record<string, never>, MessagesInput>({
    method: 'POST',
    path: '/v1/messages',
    operation: 'createMessage',
    summary: 'Generate an answer to a conversation',
    tag: 'Inference',
    family: 'messages',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    body: {
      schema: messagesBody,
      read: messagesReader(models, { strict: messagesBody, passing: passingBody, needsMaxTokens: true }),
    },
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
      'thread_unsupported_request',
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
      const task = resolve(call, models);
      return isRefusal(task) ? 0 : tokensOf(task);
    },
    handle: (call): Reply | Promise<Reply> => {
      const task = reserveTokens(call, models);
      if (isRefusal(task)) return failure(task, 'messages', call.head.requestId);
      const generation = generationOf(call, task, messageId());
      // Once the upstream has been asked, the input is spent, whatever comes of it (contract F.4).
      generation.allowance.spent = generation.estimatedTokens;
      return task.passed === null
        ? strictReply(task, generation, { clock, after })
        : passedReply(call, task.passed, generation, { clock, after });
    },
  });
};

/** A valid request and who answers it. */
type Task = StrictTask | PassedTask;
interface StrictTask {
  readonly passed: null;
  readonly upstream: Upstream;
  readonly request: GenerateRequest;
  readonly body: MessagesBody;
  readonly estimatedTokens: number;
  readonly maxTokens: number;
}
interface PassedTask {
  readonly passed: PassedBody<PassedFields>;
  readonly estimatedTokens: number;
  readonly maxTokens: number;
}

/** What is reserved for it: its input, estimated, and the longest answer that it allows (contract F.4). */
const tokensOf = ({ estimatedTokens, maxTokens }: Task): number => estimatedTokens + maxTokens;

/** Resolves the request and reserves its tokens (contract F.2). */
const reserveTokens = (call: MessagesCall, models: MessagesOptions['models']): Task | Refusal => {
  const task = resolve(call, models);
  return isRefusal(task) ? task : (call.allowance.reserve(tokensOf(task)) ?? task);
};

/** Resolves the model, then the policies, then judges the body by the model (contract F.2). */
const resolve = (
  { body, principal }: Pick<MessagesCall, 'body' | 'principal'>,
  models: MessagesOptions['models'],
): Task | Refusal => {
  const { strict, passed } = body;
  const { model: name, policy_ids: policies } = strict ?? passed.fields;
  const hosted = callableModel(models, name, principal);
  if (isRefusal(hosted)) return hosted;
  // There are no policies yet, so every name is one that the organization does not have (contract B.6).
  if (policies?.length) return refusal('policy_not_found', { param: 'policy_ids' });
  if (passed !== null) return { passed, estimatedTokens: passed.estimatedTokens, maxTokens: passed.fields.max_tokens };
  const { model, upstream } = hosted;
  const refused = modelRefusal(strict, model);
  if (refused !== null) return refused;
  const request = generateRequest(strict, hosted);
  const estimatedTokens = estimateInputTokens(request);
  const task: StrictTask = {
    passed: null,
    upstream,
    request,
    body: strict,
    estimatedTokens,
    maxTokens: strict.max_tokens,
  };
  return contextRefusal(estimatedTokens, model) ?? task;
};

const generationOf = (call: MessagesCall, { estimatedTokens }: Task, id: string): Generation => {
  const { allowance, body, head, signal } = call;
  const { model, context_management: managed } = body.strict ?? body.passed.fields;
  return {
    estimatedTokens,
    allowance,
    envelope: {
      id,
      model,
      versioned: head.header('anthropic-version') !== undefined,
      contextManaged: managed != null,
    },
    requestId: head.requestId,
    signal,
  };
};

type Timing = { readonly clock: Clock; readonly after: After };

const strictReply = ({ upstream, request, body }: StrictTask, generation: Generation, timing: Timing) => {
  const { signal, requestId } = generation;
  return body.stream === true
    ? streamedReply(upstream.stream(request, { signal, requestId }), generation, timing)
    : wholeReply(upstream.answer(request, { signal, requestId }), generation);
};

const passedReply = (
  { head }: MessagesCall,
  { passing, fields, bytes }: PassedBody<PassedFields>,
  generation: Generation,
  timing: Timing,
) => {
  const { signal, requestId, envelope } = generation;
  const request = { body: bytes(), id: envelope.id, model: envelope.model, headers: passedHeaders(head) };
  return fields.stream === true
    ? passedStream(passing.stream(request, { signal, requestId }), generation, timing)
    : passedWhole(passing.answer(request, { signal, requestId }), generation);
};
