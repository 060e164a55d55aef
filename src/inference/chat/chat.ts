import type { ProjectPrincipal } from '../../access/principal.ts';
import type { Clock } from '../../clock.ts';
import { isRefusal, type Refusal } from '../../errors.ts';
import { checker } from '../../http/endpoint.ts';
import { failure } from '../../http/error-envelopes.ts';
import { Refused } from '../../http/refused.ts';
import { parseJson } from '../../http/request/json.ts';
import { type Call, type Reply, type Route, route } from '../../http/route.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { bodyRefusal } from '../body-refusal.ts';
import { bodyLimit } from '../messages/messages.ts';
import { type MessagesBody, messagesBody } from '../messages/messages-schema.ts';
import { policyRefusal, type StrictTask, strictTask, tokensOf } from '../messages/strict-task.ts';
import { answerErrors } from '../models/call-errors.ts';
import { callableModel } from '../models/callable-model.ts';
import { type After, realAfter } from '../reply/event-output.ts';
import { answerReply } from '../reply/reply.ts';
import { chatForm } from './chat-answer.ts';
import { chatCompletion } from './chat-response-schema.ts';
import { type ChatBody, chatBody } from './chat-schema.ts';
import { chatToMessages, type Translated } from './chat-to-messages.ts';

export interface ChatOptions {
  /** By the id that callers send. */
  readonly models: ReadonlyMap<string, ConnectedModel>;
  readonly clock: Clock;
  /** A new `chatcmpl-…` id. */
  readonly completionId: () => string;
  /** For tests; real timers by default. */
  readonly after?: After;
}

/** Tokens that are reserved for an answer whose length nobody bounds (contract F.4). */
const unnamedMaximum = 4096;

/** A request in Weir's own form, with what its answer repeats. */
interface ChatInput {
  readonly body: MessagesBody;
  readonly placeOf: Translated['placeOf'];
  readonly namesMaximum: boolean;
  readonly seed: number | null;
  readonly includeUsage: boolean;
  readonly stream: boolean;
}
type ChatCall = Call<ProjectPrincipal, Record<string, never>, Record<string, never>, ChatInput, undefined>;

/** `POST /v1/chat/completions` (contract G.6): the answer of a model, whole or as server-sent events. */
export const chatRoute = (options: ChatOptions): Route => {
  const { models, clock, completionId, after = realAfter } = options;
  return route<ProjectPrincipal, Record<string, never>, Record<string, never>, ChatInput>({
    method: 'POST',
    path: '/v1/chat/completions',
    operation: 'createChatCompletion',
    summary: 'Generate an answer to a conversation, as chat completions',
    tag: 'Inference',
    family: 'chat',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    body: { schema: chatBody, read: chatReader(models) },
    bodyLimit,
    replies: {
      200: {
        description: 'The answer; with "stream": true, as server-sent events',
        schema: chatCompletion,
        media: 'application/json, text/event-stream',
      },
    },
    errors: answerErrors,
    tokens: (call) => {
      const task = resolve(call, models);
      return isRefusal(task) ? 0 : tokensOf(task);
    },
    handle: (call): Reply | Promise<Reply> => {
      const { body, allowance, signal } = call;
      // Taken out, so that what tells refusals by it does not hold the whole request until the answer has ended.
      const { placeOf } = body;
      const { requestId } = call.head;
      const resolved = resolve(call, models);
      const task = isRefusal(resolved) ? resolved : (allowance.reserve(tokensOf(resolved)) ?? resolved);
      if (isRefusal(task)) return failure(task, 'chat', requestId);
      const { estimatedTokens } = task;
      // Once the upstream has been asked, the input is spent, whatever comes of it (contract F.4).
      allowance.spent = estimatedTokens;
      const chat = chatForm({
        id: completionId(),
        model: body.body.model,
        created: Math.floor(clock.wall() / 1000),
        includeUsage: body.includeUsage,
      });
      const form = { ...chat, inPlace: (refused: Refusal) => inPlace(refused, placeOf) };
      const generation = { form, estimatedTokens, allowance, requestId, signal };
      return answerReply(task, body.stream, generation, { clock, after });
    },
  });
};

/** Resolves the model, then the policies, then judges the body by the model (contract F.2). */
const resolve = (
  { body: { body, placeOf, namesMaximum, seed }, principal }: Pick<ChatCall, 'body' | 'principal'>,
  models: ChatOptions['models'],
): StrictTask | Refusal => {
  const hosted = callableModel(models, body.model, principal);
  if (isRefusal(hosted)) return hosted;
  const refused = policyRefusal(body.policy_ids) ?? seedRefusal(seed, hosted);
  if (refused !== null) return refused;
  const task = strictTask(body, hosted);
  if (isRefusal(task)) return inPlace(task, placeOf);
  return namesMaximum ? task : { ...task, maxTokens: Math.min(unnamedMaximum, task.maxTokens) };
};

/** Only a model that repeats itself anyway keeps the promise of a seed (contract N2). */
const seedRefusal = (seed: number | null, { upstream }: ConnectedModel): Refusal | null => {
  if (seed === null || upstream.repeatable === true) return null;
  const message = 'The model does not repeat itself.';
  return bodyRefusal({ code: 'unsupported_parameter', path: ['seed'], message, input: seed });
};

const chatReader = (models: ReadonlyMap<string, ConnectedModel>) => {
  const asChat = checker(chatBody, 'chat', 'body');
  const asMessages = checker(messagesBody, 'messages', 'body');
  return (bytes: Buffer): ChatInput | Refused => {
    const value = parseJson(bytes);
    if (value instanceof Refused) return value;
    const checked = asChat(value);
    if (checked instanceof Refused) return checked;
    const chat = checked as ChatBody;
    const translated = chatToMessages(chat, models.get(chat.model)?.model.max_output_length ?? 1);
    if ('message' in translated) return new Refused(bodyRefusal(translated));
    const { placeOf } = translated;
    const body = asMessages(translated.body);
    if (body instanceof Refused) return new Refused(inPlace(body.refusal, placeOf));
    return {
      body: body as MessagesBody,
      placeOf,
      namesMaximum: (chat.max_completion_tokens ?? chat.max_tokens) != null,
      seed: chat.seed ?? null,
      includeUsage: chat.stream_options?.include_usage === true,
      stream: chat.stream === true,
    };
  };
};

/** A refusal of the translated request, told by what the caller sent. */
const inPlace = (refused: Refusal, placeOf: Translated['placeOf']): Refusal => {
  const [first] = refused.details;
  if (first === undefined) return refused;
  const param = placeOf(first.loc.slice(1)).map(String).join('.');
  return { ...refused, param, message: `${param}: ${first.msg}`, details: [] };
};
