import { isRefusal, type Refusal } from '../../errors.ts';
import { checker } from '../../http/endpoint.ts';
import { Refused } from '../../http/refused.ts';
import type { Route } from '../../http/route.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { bodyRefusal } from '../body-refusal.ts';
import { type MessagesBody, messagesBody } from '../messages/messages-schema.ts';
import { strictTask } from '../messages/strict-task.ts';
import { type Asked, bodyReader } from '../route/body-reader.ts';
import { type InferenceOptions, inferenceRoute } from '../route/inference-route.ts';
import type { StrictTask } from '../route/task.ts';
import { chatForm } from './chat-answer.ts';
import { chatCompletion } from './chat-response-schema.ts';
import { type ChatBody, chatBody } from './chat-schema.ts';
import { chatToMessages, type Translated } from './chat-to-messages.ts';

/** Tokens that are reserved for an answer whose length nobody bounds (contract F.4). */
const unnamedMaximum = 4096;

/** A request in Weir's own form, with what its answer repeats. */
interface ChatInput extends Asked {
  readonly body: MessagesBody;
  readonly placeOf: Translated['placeOf'];
  readonly namesMaximum: boolean;
  readonly seed: number | null;
  readonly includeUsage: boolean;
}

/** `POST /v1/chat/completions` (contract G.6): the answer of a model, whole or as server-sent events. */
export const chatRoute = (options: InferenceOptions): Route =>
  inferenceRoute<ChatInput>(options, {
    path: '/v1/chat/completions',
    operation: 'createChatCompletion',
    summary: 'Generate an answer to a conversation, as chat completions',
    family: 'chat',
    name: 'chat.completions',
    request: chatBody,
    response: chatCompletion,
    read: bodyReader(options.models, { strict: chatReader(options.models) }),
    judge,
    form: ({ strict }, id) => {
      const { model, includeUsage, placeOf } = strict!;
      const created = Math.floor(options.clock.wall() / 1000);
      const form = chatForm({ id, model, created, includeUsage });
      return { ...form, inPlace: (refused) => inPlace(refused, placeOf) };
    },
  });

/** Judges the body by the model (contract F.2). */
const judge = ({ body, placeOf, namesMaximum, seed }: ChatInput, hosted: ConnectedModel): StrictTask | Refusal => {
  const task = seedRefusal(seed, hosted) ?? strictTask(body, hosted);
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
  return (value: unknown): ChatInput | Refused => {
    const checked = asChat(value);
    if (checked instanceof Refused) return checked;
    const chat = checked as ChatBody;
    const translated = chatToMessages(chat, models.get(chat.model)?.model.max_output_length ?? 1);
    if ('message' in translated) return new Refused(bodyRefusal(translated));
    const { placeOf } = translated;
    const body = asMessages(translated.body);
    if (body instanceof Refused) return new Refused(inPlace(body.refusal, placeOf));
    return {
      model: chat.model,
      policy_ids: chat.policy_ids,
      stream: chat.stream,
      body: body as MessagesBody,
      placeOf,
      namesMaximum: (chat.max_completion_tokens ?? chat.max_tokens) != null,
      seed: chat.seed ?? null,
      includeUsage: chat.stream_options?.include_usage === true,
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
