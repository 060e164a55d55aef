import type { ProjectPrincipal } from '../../access/principal.ts';
import type { Clock } from '../../clock.ts';
import { isRefusal, type Refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import { type Call, type Reply, type Route, route } from '../../http/route.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { answerErrors } from '../models/call-errors.ts';
import { callableModel } from '../models/callable-model.ts';
import { type After, realAfter } from '../reply/event-output.ts';
import { answerReply, type Generation, type Timing } from '../reply/reply.ts';
import type { Envelope } from './messages-answer.ts';
import { messagesForm } from './messages-events.ts';
import { messageResponse } from './messages-response-schema.ts';
import { type MessagesBody, messagesBody } from './messages-schema.ts';
import { passedHeaders, passedStream, passedWhole } from './passed-reply.ts';
import { passingBody } from './passing-schema.ts';
import { messagesReader, type PassedBody, type PassedFields, type ReadBody } from './read-messages.ts';
import { policyRefusal, type StrictTask, strictTask, tokensOf } from './strict-task.ts';

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

/** `POST /v1/messages` (contract A.5, G.1–G.5, N1): the answer of a model, whole or as server-sent events. */
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
    errors: [...answerErrors, 'thread_unsupported_request'],
    tokens: (call) => {
      const task = resolve(call, models);
      return isRefusal(task) ? 0 : tokensOfTask(task);
    },
    handle: (call): Reply | Promise<Reply> => {
      const task = reserveTokens(call, models);
      if (isRefusal(task)) return failure(task, 'messages', call.head.requestId);
      const { allowance, head, signal, body } = call;
      const { estimatedTokens } = task.strict ?? task.passed;
      const envelope = envelopeOf(call, messageId());
      const generation = {
        form: messagesForm(envelope),
        estimatedTokens,
        allowance,
        requestId: head.requestId,
        signal,
      };
      // Once the upstream has been asked, the input is spent, whatever comes of it (contract F.4).
      allowance.spent = estimatedTokens;
      return task.strict === null
        ? passedReply(call, task.passed, envelope, generation, { clock, after })
        : answerReply(task.strict, body.strict?.stream === true, generation, { clock, after });
    },
  });
};

/** A valid request and who answers it. */
type Task =
  | { readonly strict: StrictTask; readonly passed: null }
  | { readonly strict: null; readonly passed: PassedBody<PassedFields> };

const tokensOfTask = ({ strict, passed }: Task): number =>
  tokensOf(strict ?? { estimatedTokens: passed.estimatedTokens, maxTokens: passed.fields.max_tokens });

/** Resolves the request and reserves its tokens (contract F.2). */
const reserveTokens = (call: MessagesCall, models: MessagesOptions['models']): Task | Refusal => {
  const task = resolve(call, models);
  return isRefusal(task) ? task : (call.allowance.reserve(tokensOfTask(task)) ?? task);
};

/** Resolves the model, then the policies, then judges the body by the model (contract F.2). */
const resolve = (
  { body, principal }: Pick<MessagesCall, 'body' | 'principal'>,
  models: MessagesOptions['models'],
): Task | Refusal => {
  const { strict: read, passed } = body;
  const { model: name, policy_ids: policies } = read ?? passed.fields;
  const hosted = callableModel(models, name, principal);
  if (isRefusal(hosted)) return hosted;
  const refused = policyRefusal(policies);
  if (refused !== null) return refused;
  if (passed !== null) return { strict: null, passed };
  const strict = strictTask(read, hosted);
  return isRefusal(strict) ? strict : { strict, passed: null };
};

const envelopeOf = ({ body, head }: MessagesCall, id: string): Envelope => {
  const { model, context_management: managed } = body.strict ?? body.passed.fields;
  return { id, model, versioned: head.header('anthropic-version') !== undefined, contextManaged: managed != null };
};

const passedReply = (
  { head }: MessagesCall,
  { passing, fields, bytes }: PassedBody<PassedFields>,
  { id, model }: Envelope,
  generation: Generation,
  timing: Timing,
) => {
  const { signal, requestId } = generation;
  const request = { body: bytes(), id, model, headers: passedHeaders(head) };
  return fields.stream === true
    ? passedStream(passing.stream(request, { signal, requestId }), generation, timing)
    : passedWhole(passing.answer(request, { signal, requestId }), generation);
};
